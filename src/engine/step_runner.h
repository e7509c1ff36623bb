// Where the arithmetic of a step runs: on a thread of its own, so that the engine loop goes on meanwhile, or here and now.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>

#include "platform/job_thread.h"

namespace hearth {

// Runs one piece of work at a time.
class StepRunner {
 public:
  virtual ~StepRunner() = default;

  // Runs `work` and resumes on the engine loop when it has ended. One call at a time.
  // Errors: those of `work`.
  // A lambda that captures more than references and numbers must be a named std::function first: GCC 12 destroys such
  // a temporary of a co_await expression twice.
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

// On a job thread, so that the loop goes on meanwhile.
// Life:    while the work runs, the thread owns the coroutine that waits for it, with everything that its frames hold:
//          nobody can destroy it, nor what `work` refers to there. It goes back to the executor's queue when the work
//          has ended, and is resumed or, when the executor is destroyed first, freed from there. So the executor must
//          outlive the jobs: a program ends (or waits for) the job thread first, then destroys the executor.
//          A cancellation of Asio's own does not reach the work.
// Threads: Run on the loop; `work` on the job thread, which sees what the loop did before Run, and the loop sees what
//          `work` did. The executor counts the work as outstanding.
// Errors:  those of `work`; kOverloaded when two calls overlap and a third comes.
class ThreadStepRunner final : public StepRunner {
 public:
  // The thread outlives the runner, and serves nobody else.
  explicit ThreadStepRunner(JobThread& thread) : thread_(thread) {}

  boost::asio::awaitable<void> Run(std::function<void()> work) override;

 private:
  JobThread& thread_;
};

}  // namespace hearth
