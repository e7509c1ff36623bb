// The timer of the running engine: the loop's own clock.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>

#include "contracts/timer.h"

namespace hearth {

// Timers on an Asio executor, by the steady clock. A stopped timer never calls back, even when it has expired already
// and its turn on the loop is still to come.
class LoopTimer final : public Timer {
 public:
  explicit LoopTimer(boost::asio::any_io_executor executor);

  std::function<void()> After(
      std::chrono::milliseconds delay, std::function<void()> callback
  ) override;

 private:
  boost::asio::any_io_executor executor_;
};

}  // namespace hearth
