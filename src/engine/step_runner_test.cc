#include "engine/step_runner.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "hearth/error.h"

namespace hearth {
namespace {

namespace asio = boost::asio;

// Spawns the coroutine and runs the loop until nothing is outstanding.
template <class Coroutine>
void RunLoop(asio::io_context& loop, Coroutine coroutine) {
  asio::co_spawn(loop, std::move(coroutine), [](const std::exception_ptr& error) {
    if (error) {
      std::rethrow_exception(error);
    }
  });
  loop.run();
}

TEST(ThreadStepRunner, WorkRunsOnTheThreadAndTheLoopSeesWhatItDid) {
  asio::io_context loop(1);
  JobThread thread("test");
  ThreadStepRunner steps(thread);
  std::uint64_t sum = 0;  // not atomic: the hand-over orders it
  std::thread::id where;
  RunLoop(loop, [&]() -> asio::awaitable<void> {
    const std::thread::id home = std::this_thread::get_id();
    for (std::uint64_t step = 1; step <= 2000; ++step) {
      co_await steps.Run([&] {
        sum += step;
        where = std::this_thread::get_id();
      });
      EXPECT_EQ(std::this_thread::get_id(), home);
      EXPECT_NE(where, home);
      EXPECT_EQ(sum, step * (step + 1) / 2);
    }
  });
  EXPECT_EQ(sum, 2001000u);
}

TEST(ThreadStepRunner, TheLoopGoesOnWhileTheWorkRuns) {
  asio::io_context loop(1);
  JobThread thread("test");
  ThreadStepRunner steps(thread);
  bool ended = false;
  RunLoop(loop, [&]() -> asio::awaitable<void> {
    std::promise<void> handler_ran;  // the work ends only when the loop ran something beside it
    asio::post(loop, [&] { handler_ran.set_value(); });
    co_await steps.Run([&] { handler_ran.get_future().wait(); });
    ended = true;
  });
  EXPECT_TRUE(ended);
}

TEST(ThreadStepRunner, ErrorsOfTheWorkReachWhoAwaits) {
  asio::io_context loop(1);
  JobThread thread("test");
  ThreadStepRunner steps(thread);
  std::string what;
  int after = 0;
  RunLoop(loop, [&]() -> asio::awaitable<void> {
    try {
      co_await steps.Run([] { throw std::runtime_error("a broken step"); });
    } catch (const std::runtime_error& error) {
      what = error.what();
    }
    co_await steps.Run([&] { ++after; });
  });
  EXPECT_EQ(what, "a broken step");
  EXPECT_EQ(after, 1);
}

// Says on which thread it was destroyed.
struct Witness {
  explicit Witness(std::thread::id& place) : where(place) {}

  ~Witness() { where = std::this_thread::get_id(); }

  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  std::thread::id& where;
};

TEST(ThreadStepRunner, WhatTheWorkHeldIsDestroyedOnTheLoop) {
  asio::io_context loop(1);
  JobThread thread("test");
  ThreadStepRunner steps(thread);
  std::thread::id where;
  RunLoop(loop, [&]() -> asio::awaitable<void> {
    std::function<void()> work = [held = std::make_shared<Witness>(where)] {};
    co_await steps.Run(std::move(work));
  });
  EXPECT_EQ(where, std::this_thread::get_id());
}

// The loop is stopped and destroyed while a step runs: the step's frame must live until the step has ended, and is then freed.
TEST(ThreadStepRunner, AnExecutorThatEndsEarlyFreesTheCoroutineAfterItsWork) {
  bool freed_too_early = false;
  bool resumed = false;
  std::thread::id where;
  std::promise<void> began;
  std::promise<void> go;
  {
    asio::io_context loop(1);
    JobThread thread("test");
    ThreadStepRunner steps(thread);
    asio::co_spawn(
        loop,
        [&]() -> asio::awaitable<void> {
          const Witness witness(where);
          std::string local = "in the frame";
          co_await steps.Run([&] {
            began.set_value();
            go.get_future().wait();
            freed_too_early = where != std::thread::id() || local != "in the frame";
          });
          resumed = true;
        },
        asio::detached
    );
    loop.poll();
    began.get_future().wait();
    loop.stop();
    go.set_value();
    // The end of the scope: first the thread, which waits for its job, then the loop.
  }
  EXPECT_FALSE(freed_too_early);
  EXPECT_FALSE(resumed);
  EXPECT_EQ(where, std::this_thread::get_id());
}

}  // namespace
}  // namespace hearth
