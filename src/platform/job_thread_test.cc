#include "platform/job_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hearth/error.h"

namespace hearth {
namespace {

TEST(JobThread, RunsJobsOnAnotherThreadInTheirOrder) {
  JobThread thread("test");
  std::vector<int> order;
  std::thread::id where;
  for (int i = 0; i < 300; ++i) {
    thread.Start([&, i] {
      order.push_back(i);
      where = std::this_thread::get_id();
    });
    thread.Wait();
    ASSERT_EQ(order.size(), static_cast<std::size_t>(i) + 1);
  }
  EXPECT_EQ(order.back(), 299);
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(JobThread, OneJobMayWaitAndNoMore) {
  std::promise<void> go;
  std::promise<void> began;
  int ran = 0;
  JobThread thread("test");
  thread.Start([&] {
    began.set_value();
    go.get_future().wait();
    ++ran;
  });
  began.get_future().wait();
  thread.Start([&] { ++ran; });
  std::optional<ErrorCode> refused;
  try {
    thread.Start([&] { ran += 100; });
  } catch (const Error& error) {
    refused = error.code();
  }
  go.set_value();
  thread.Wait();
  EXPECT_EQ(refused, ErrorCode::kOverloaded);
  EXPECT_EQ(ran, 2);
}

TEST(JobThread, TheDestructorWaitsForEveryJobGiven) {
  int ran = 0;
  std::promise<void> began;
  {
    JobThread thread("test");
    thread.Start([&] {
      began.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++ran;
    });
    began.get_future().wait();
    thread.Start([&] { ++ran; });
  }
  EXPECT_EQ(ran, 2);
}

TEST(JobThread, WaitReturnsWhenWhatTheJobHeldIsGone) {
  JobThread thread("test");
  for (int i = 0; i < 100; ++i) {
    auto held = std::make_shared<int>(0);
    const std::weak_ptr<int> weak = held;
    thread.Start([held = std::move(held)] { ++*held; });
    thread.Wait();
    ASSERT_TRUE(weak.expired());
  }
}

TEST(JobThread, TakesNoSignalsAndBearsItsName) {
  JobThread thread("a-name-that-is-too-long");
  bool interrupts = true;
  std::string name(32, '\0');
  thread.Start([&] {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    interrupts = sigismember(&blocked, SIGINT) == 0;
    pthread_getname_np(pthread_self(), name.data(), name.size());
  });
  thread.Wait();
  EXPECT_FALSE(interrupts);
  EXPECT_EQ(name.c_str(), std::string("a-name-that-is-"));
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGINT), 0);
}

}  // namespace
}  // namespace hearth
