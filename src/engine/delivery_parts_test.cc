// The small parts under a session, each alone: condition, event queue, reservations, timers.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/condition.h"
#include "engine/event_queue.h"
#include "engine/idle_timer.h"
#include "engine/loop_timer.h"
#include "engine/output_reservations.h"
#include "hearth/error.h"
#include "support/manual_loop.h"

namespace hearth {
namespace {

using boost::asio::awaitable;
using std::chrono::milliseconds;
using testing_support::ManualLoop;
using testing_support::ManualTimer;

awaitable<void> WaitThenNote(Condition& condition, std::vector<int>& order, int name) {
  co_await condition.Wait();
  order.push_back(name);
}

TEST(Condition, ResumesInOrderThroughTheLoop) {
  ManualLoop loop;
  Condition condition;
  std::vector<int> order;
  condition.NotifyAll();  // forgotten
  loop.Spawn(WaitThenNote(condition, order, 1));
  loop.Spawn(WaitThenNote(condition, order, 2));
  loop.RunUntilIdle();
  EXPECT_TRUE(order.empty());
  condition.NotifyAll();
  EXPECT_TRUE(order.empty()) << "a waiter ran inside NotifyAll";
  loop.RunUntilIdle();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Condition, DestructionFreesItsWaiters) {
  ManualLoop loop;
  auto condition = std::make_unique<Condition>();
  std::vector<int> order;
  const auto waiting = loop.Spawn(WaitThenNote(*condition, order, 1));
  loop.RunUntilIdle();
  EXPECT_EQ(waiting.use_count(), 2);
  condition.reset();
  loop.RunUntilIdle();  // Asio unwinds a coroutine on its executor
  EXPECT_EQ(waiting.use_count(), 1) << "the coroutine's frame is still there";
  EXPECT_TRUE(waiting->pending());
}

GenerationEvent Tokens(std::size_t count) {
  return CommittedTokens{0, std::vector<TokenId>(count, 7), std::nullopt};
}

TEST(EventQueue, IsBoundedInEventsAndInTokens) {
  EventQueue queue(2, 4);
  EXPECT_TRUE(queue.HasRoom(4));
  EXPECT_FALSE(queue.HasRoom(5));
  queue.Push(Tokens(3));
  EXPECT_TRUE(queue.HasRoom(1));
  EXPECT_FALSE(queue.HasRoom(2));
  queue.Push(GenerationProgress{1, std::nullopt});
  EXPECT_FALSE(queue.HasRoom(0)) << "full of events";
  EXPECT_THROW(queue.Push(GenerationProgress{2, std::nullopt}), Error);
  EXPECT_EQ(queue.Pop(), Tokens(3));
  EXPECT_TRUE(queue.HasRoom(4));
  EXPECT_EQ(queue.Pop(), (GenerationEvent{GenerationProgress{1, std::nullopt}}));
  EXPECT_FALSE(queue.Pop());
}

TEST(EventQueue, ClearGivesTheRoomBack) {
  EventQueue queue(4, 4);
  queue.Push(Tokens(4));
  EXPECT_FALSE(queue.HasRoom(1));
  queue.Clear();
  EXPECT_EQ(queue.events(), 0U);
  EXPECT_TRUE(queue.HasRoom(4));
}

ErrorCode CodeOfReserving(OutputReservations& reservations, std::uint64_t tokens) {
  try {
    reservations.Reserve(tokens);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(OutputReservations, ShareOneCeiling) {
  OutputReservations reservations;
  EXPECT_EQ(reservations.max_tokens(), 65'536U);
  Owned<std::uint64_t> most = reservations.Reserve(65'000);
  {
    const Owned<std::uint64_t> rest = reservations.Reserve(536);
    EXPECT_EQ(reservations.reserved(), 65'536U);
    EXPECT_EQ(CodeOfReserving(reservations, 1), ErrorCode::kOverloaded);
    EXPECT_NO_THROW(reservations.Reserve(0));
  }
  most.Close();
  most.Close();
  EXPECT_EQ(reservations.reserved(), 0U);
  EXPECT_EQ(CodeOfReserving(reservations, 65'537), ErrorCode::kResourceExhausted);
  EXPECT_EQ(CodeOfReserving(reservations, ~std::uint64_t{0}), ErrorCode::kResourceExhausted);
  EXPECT_EQ(reservations.reserved(), 0U);
}

TEST(IdleTimer, ExpiresBehindWhatWasPostedBefore) {
  ManualLoop loop;
  ManualTimer timer;
  IdleTimer idle(loop.executor(), timer, milliseconds(5));
  std::vector<std::string> order;
  idle.Arm([&] { order.push_back("expired"); });
  EXPECT_EQ(timer.last_delay, milliseconds(5));
  boost::asio::post(loop.executor(), [&] { order.push_back("posted before"); });
  timer.Fire();
  boost::asio::post(loop.executor(), [&] { order.push_back("posted after"); });
  loop.RunUntilIdle();
  EXPECT_EQ(order, (std::vector<std::string>{"posted before", "expired", "posted after"}));
}

TEST(IdleTimer, StopAndRearmVoidAnExpiryOnItsWay) {
  ManualLoop loop;
  ManualTimer timer;
  IdleTimer idle(loop.executor(), timer, milliseconds(5));
  int expired = 0;
  idle.Arm([&] { ++expired; });
  timer.Fire();
  idle.Stop();
  loop.RunUntilIdle();
  EXPECT_EQ(expired, 0);

  idle.Arm([&] { ++expired; });
  timer.Fire();
  idle.Stop();
  idle.Arm([&] { expired += 10; });
  loop.RunUntilIdle();
  EXPECT_EQ(expired, 0);
  timer.Fire();
  loop.RunUntilIdle();
  EXPECT_EQ(expired, 10);
}

TEST(IdleTimer, StopsAlthoughTheStopFunctionThrows) {
  ManualLoop loop;
  ManualTimer timer;
  IdleTimer idle(loop.executor(), timer, milliseconds(5));
  bool expired = false;
  idle.Arm([&] { expired = true; });
  timer.Fire();
  timer.stop_throws = true;
  EXPECT_THROW(idle.Stop(), std::runtime_error);
  EXPECT_NO_THROW(idle.Stop()) << "a stop function is called once";
  loop.RunUntilIdle();
  EXPECT_FALSE(expired);
}

// No test waits for time to pass: a deadline that has passed already shows all that the clock can do.
TEST(LoopTimer, FiresOnTheLoopAndLetsGo) {
  boost::asio::io_context loop;
  LoopTimer timer(loop.get_executor());
  auto held = std::make_shared<int>(0);
  const std::function<void()> stop = timer.After(milliseconds(0), [held] { ++*held; });
  EXPECT_EQ(*held, 0) << "called inside After";
  loop.run();
  EXPECT_EQ(*held, 1);
  EXPECT_EQ(held.use_count(), 1) << "the callback is still held";
  EXPECT_NO_THROW(stop());
}

TEST(LoopTimer, AStoppedTimerNeverCallsBack) {
  boost::asio::io_context loop;
  LoopTimer timer(loop.get_executor());
  auto held = std::make_shared<int>(0);
  const std::function<void()> stop = timer.After(std::chrono::hours(1), [held] { ++*held; });
  stop();
  EXPECT_EQ(held.use_count(), 1);
  loop.run();  // returns at once: the wait was cancelled
  EXPECT_EQ(*held, 0);

  // Two have expired together; the first to run stops the second, whose turn is still to come.
  std::function<void()> stop_second;
  const std::function<void()> stop_first = timer.After(milliseconds(0), [&] { stop_second(); });
  stop_second = timer.After(milliseconds(0), [held] { ++*held; });
  loop.restart();
  loop.run();
  EXPECT_EQ(*held, 0);
}

TEST(LoopTimer, AnArmedTimerDoesNotOutliveItsLoop) {
  auto held = std::make_shared<int>(0);
  {
    boost::asio::io_context loop;
    LoopTimer timer(loop.get_executor());
    timer.After(std::chrono::hours(1), [held] { ++*held; });
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace hearth
