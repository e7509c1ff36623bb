// An engine loop, a timer and answers that a test holds in its hand: nothing moves until the test says so, and no test
// sleeps.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "contracts/aggregate_error.h"
#include "contracts/timer.h"
#include "engine/condition.h"

namespace hearth::testing_support {

// What a spawned coroutine came to: nothing yet, a value, or an error.
template <class T>
class Settled {
 public:
  bool pending() const { return !value_ && !error_; }

  bool failed() const { return error_ != nullptr; }

  // The value; an error is thrown. Throws std::logic_error while pending.
  const T& value() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
    if (!value_) {
      throw std::logic_error("still pending");
    }
    return *value_;
  }

  // The error's message; "" when there is none.
  std::string error() const { return failed() ? DescribeError(error_) : ""; }

  void Set(T value) { value_.emplace(std::move(value)); }

  void Fail(std::exception_ptr error) { error_ = std::move(error); }

 private:
  std::optional<T> value_;
  std::exception_ptr error_;
};

// First in, first out, on the caller's thread.
class ManualLoop {
 public:
  boost::asio::io_context::executor_type executor() { return context_.get_executor(); }

  // Runs handlers until none is ready.
  void RunUntilIdle() {
    context_.restart();
    context_.poll();
  }

  // Runs the one handler that is next; false when there was none.
  bool RunOne() {
    context_.restart();
    return context_.poll_one() > 0;
  }

  // Posts the coroutine; it has not begun when this returns. A void one settles with `true`.
  template <class T>
  auto Spawn(boost::asio::awaitable<T> coroutine) {
    if constexpr (std::is_void_v<T>) {
      auto settled = std::make_shared<Settled<bool>>();
      boost::asio::co_spawn(
          context_, std::move(coroutine), [settled](const std::exception_ptr& error) {
            error ? settled->Fail(error) : settled->Set(true);
          }
      );
      return settled;
    } else {
      auto settled = std::make_shared<Settled<T>>();
      boost::asio::co_spawn(
          context_, std::move(coroutine), [settled](const std::exception_ptr& error, T value) {
            error ? settled->Fail(error) : settled->Set(std::move(value));
          }
      );
      return settled;
    }
  }

 private:
  boost::asio::io_context context_;
};

// An answer that a coroutine waits for until the test gives it. Used again after it was taken.
template <class T>
class Reply {
 public:
  boost::asio::awaitable<T> Wait() {
    ++waiting_;
    while (answer_.pending()) {
      co_await given_.Wait();
    }
    --waiting_;
    const Settled<T> answer = std::exchange(answer_, {});
    co_return answer.value();
  }

  bool waiting() const { return waiting_ > 0 && answer_.pending(); }

  void Resolve(T value) {
    answer_.Set(std::move(value));
    given_.NotifyAll();
  }

  void Reject(const std::string& message) {
    answer_.Fail(std::make_exception_ptr(std::runtime_error(message)));
    given_.NotifyAll();
  }

 private:
  Settled<T> answer_;
  int waiting_ = 0;
  Condition given_;
};

// At most one timer is live; a second one is counted as an overlap.
class ManualTimer final : public Timer {
 public:
  std::function<void()> After(
      std::chrono::milliseconds delay, std::function<void()> callback
  ) override {
    if (fail_next_arm) {
      fail_next_arm = false;
      throw std::runtime_error("no timer left");
    }
    overlaps += callback_ ? 1U : 0U;
    ++armed;
    last_delay = delay;
    callback_ = std::move(callback);
    return [this, mine = armed] {
      if (mine == armed) {
        callback_ = nullptr;
      }
      if (stop_throws) {
        throw std::runtime_error("cannot stop");
      }
    };
  }

  bool live() const { return static_cast<bool>(callback_); }

  // Expires the live timer: it is gone before its callback runs.
  void Fire() {
    const std::function<void()> callback = std::exchange(callback_, nullptr);
    callback();
  }

  std::size_t armed = 0;
  std::size_t overlaps = 0;
  std::chrono::milliseconds last_delay{0};
  bool fail_next_arm = false;
  bool stop_throws = false;

 private:
  std::function<void()> callback_;
};

}  // namespace hearth::testing_support
