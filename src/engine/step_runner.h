// Where the arithmetic of a step runs: on a thread of its own, so that the engine loop goes on meanwhile, or here and now.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>

namespace hearth {

// Runs one piece of work at a time.
class StepRunner {
 public:
  virtual ~StepRunner() = default;

  // Runs `work` and resumes on the engine loop when it has ended. One call at a time.
  // Errors: those of `work`.
  virtual boost::asio::awaitable<void> Run(std::function<void()> work) = 0;
};

// On the caller, for tests that hold the loop in their hand.
class InlineStepRunner final : public StepRunner {
 public:
  boost::asio::awaitable<void> Run(std::function<void()> work) override {
    work();
    co_return;
  }
};

}  // namespace hearth
