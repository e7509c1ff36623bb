#include "engine/cancellation.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "contracts/aggregate_error.h"

namespace hearth {
namespace {

using Told = std::vector<std::string>;

// A listener that writes down its name and the reason.
std::function<void(CancelReason)> Note(Told& told, std::string name) {
  return [&told, name = std::move(name)](CancelReason reason) {
    told.push_back(name + ":" + std::string(CancelReasonName(reason)));
  };
}

TEST(CancellationSource, FirstReasonWinsAndIsToldOnce) {
  CancellationSource source;
  Told told;
  EXPECT_FALSE(source.reason());
  const Subscription a = source.Subscribe(Note(told, "a"));
  const Subscription b = source.Subscribe(Note(told, "b"));
  source.Cancel(CancelReason::kConsumerIdle);
  source.Cancel(CancelReason::kEngineClosed);
  EXPECT_EQ(source.reason(), CancelReason::kConsumerIdle);
  EXPECT_EQ(told, (Told{"a:consumer_idle", "b:consumer_idle"}));
}

TEST(CancellationSource, LateSubscribersHearAtOnce) {
  CancellationSource source;
  Told told;
  source.Cancel(CancelReason::kConsumerClosed);
  const Subscription late = source.Subscribe(Note(told, "late"));
  EXPECT_EQ(told, Told{"late:consumer_closed"});
}

TEST(CancellationSource, UnsubscribedListenersHearNothing) {
  CancellationSource source;
  Told told;
  Subscription a = source.Subscribe(Note(told, "a"));
  const Subscription b = source.Subscribe(Note(told, "b"));
  a.Reset();
  a.Reset();
  source.Cancel(CancelReason::kRequested);
  EXPECT_EQ(told, Told{"b:requested"});
}

TEST(CancellationSource, ListenersMayUnsubscribeOthersAndSubscribeNewOnes) {
  CancellationSource source;
  Told told;
  Subscription b;
  Subscription c;
  const Subscription a = source.Subscribe([&](CancelReason) {
    told.push_back("a");
    b.Reset();
    c = source.Subscribe(Note(told, "c"));
  });
  b = source.Subscribe(Note(told, "b"));
  source.Cancel(CancelReason::kRequested);
  EXPECT_EQ(told, (Told{"a", "c:requested"}));
}

TEST(CancellationSource, AListenerThatThrowsHidesNothingFromTheOthers) {
  CancellationSource source;
  Told told;
  const Subscription a = source.Subscribe([](CancelReason) { throw std::runtime_error("one"); });
  const Subscription b = source.Subscribe([](CancelReason) { throw std::runtime_error("two"); });
  const Subscription c = source.Subscribe(Note(told, "c"));
  try {
    source.Cancel(CancelReason::kRequested);
    FAIL() << "nothing was thrown";
  } catch (const AggregateError&) {
    EXPECT_EQ(DescribeError(std::current_exception()), "cancellation listeners failed [one; two]");
  }
  EXPECT_EQ(told, Told{"c:requested"});
}

TEST(CancellationSource, MayGoBeforeItsSubscriptionsAndInsideAListener) {
  auto source = std::make_unique<CancellationSource>();
  Told told;
  Subscription kept = source->Subscribe([&](CancelReason) { source.reset(); });
  Subscription after = source->Subscribe(Note(told, "after"));
  source->Cancel(CancelReason::kRequested);
  EXPECT_EQ(source, nullptr);
  EXPECT_EQ(told, Told{"after:requested"});
  EXPECT_NO_THROW(kept.Reset());
  EXPECT_NO_THROW(after.Reset());
}

}  // namespace
}  // namespace hearth
