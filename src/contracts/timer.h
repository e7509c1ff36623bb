// One-shot timers as the engine needs them, so that time is injected and tests hold the clock.
#pragma once

#include <chrono>
#include <functional>

namespace hearth {

// Calls back once, later, on the engine loop.
// Life:      armed by After until it fires or is stopped; gone before its callback runs. An implementation lets go of
//            the callback, and of what it captured, as soon as it has fired or was stopped.
// Ownership: must outlive every timer that it armed and every stop function that it returned.
// Threads:   the engine loop only.
// Errors:    After may throw when no timer can be armed; a stop function should not throw.
class Timer {
 public:
  virtual ~Timer() = default;

  // Returns the function that stops it; calling that for a timer that is gone does nothing.
  virtual std::function<void()> After(
      std::chrono::milliseconds delay, std::function<void()> callback
  ) = 0;
};

}  // namespace hearth
