#include "contracts/method.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "hearth/error.h"

namespace hearth {
namespace {

TEST(Subscription, EndsOnceHoweverItEnds) {
  int ended = 0;
  {
    Subscription subscription([&] { ++ended; });
    subscription.Reset();
    subscription.Reset();
    EXPECT_EQ(ended, 1);
  }
  EXPECT_EQ(ended, 1);
  {
    const Subscription dropped([&] { ++ended; });
  }
  EXPECT_EQ(ended, 2);
}

TEST(Subscription, MovesWithoutEnding) {
  int first = 0;
  int second = 0;
  {
    Subscription kept([&] { ++first; });
    Subscription moved(std::move(kept));
    kept.Reset();  // NOLINT(bugprone-use-after-move): the point of the test
    EXPECT_EQ(first, 0);
    Subscription other([&] { ++second; });
    other = std::move(moved);
    EXPECT_EQ(second, 1) << "the one that is replaced ends";
    EXPECT_EQ(first, 0);
  }
  EXPECT_EQ(first, 1);
}

TEST(Subscription, ResetShowsTheErrorAndDestructionDropsIt) {
  Subscription subscription([] { throw std::runtime_error("gone"); });
  EXPECT_THROW(subscription.Reset(), std::runtime_error);
  EXPECT_NO_THROW({ const Subscription dropped([] { throw std::runtime_error("gone"); }); });
}

class FixedCancellation final : public Cancellation {
 public:
  std::optional<CancelReason> reason() const override { return given; }

  Subscription Subscribe(std::function<void(CancelReason)>) override { return {}; }

  std::optional<CancelReason> given;
};

TEST(Cancellation, ThrowsOnceThereIsAReason) {
  FixedCancellation cancellation;
  EXPECT_NO_THROW(cancellation.ThrowIfCancelled());
  cancellation.given = CancelReason::kRequested;
  try {
    cancellation.ThrowIfCancelled();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    EXPECT_STREQ(error.what(), "generation cancelled");
  }
}

}  // namespace
}  // namespace hearth
