// The deadline of a reader that takes nothing: one injected timer that is armed, stopped and replaced.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "contracts/timer.h"

namespace hearth {

// At most one timer is live, and a stopped one never expires, even when its callback is on its way already.
// What was posted to the executor before the timer fired wins: the expiry goes to the back of the executor's queue and
// takes place only if nobody has stopped or replaced the timer by then.
// Ownership: borrows the timer. An armed timer owns its callback, and with it whatever keeps its user alive.
// Threads:   the executor's, as Timer.
// Errors:    Arm lets the timer's error through; then nothing is armed. Stop throws what the timer's stop function
//            throws, and has stopped all the same.
class IdleTimer {
 public:
  IdleTimer(boost::asio::any_io_executor executor, Timer& timer, std::chrono::milliseconds timeout);

  // Starts the whole timeout anew. Call Stop first: a live timer is let go of, not stopped.
  void Arm(std::function<void()> expired);

  void Stop();

 private:
  boost::asio::any_io_executor executor_;
  Timer& timer_;
  std::chrono::milliseconds timeout_;
  std::shared_ptr<std::uint64_t>
      armed_;  // counts Arm and Stop; an expiry of an older count is void
  std::function<void()> stop_;
};

}  // namespace hearth
