#include "engine/loop_timer.h"

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <utility>

namespace hearth {
namespace {

struct Armed {
  boost::asio::steady_timer timer;
  std::function<void()> callback;  // empty once it was called or stopped
};

}  // namespace

LoopTimer::LoopTimer(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {
}

std::function<void()> LoopTimer::After(
    std::chrono::milliseconds delay, std::function<void()> callback
) {
  const auto armed = std::make_shared<Armed>(
      Armed{boost::asio::steady_timer(executor_, delay), std::move(callback)}
  );
  armed->timer.async_wait([armed](const boost::system::error_code& /*cancelled*/) {
    if (const std::function<void()> expired = std::exchange(armed->callback, nullptr)) {
      expired();
    }
  });
  return [weak = std::weak_ptr(armed)] {
    if (const std::shared_ptr<Armed> stopped = weak.lock()) {
      stopped->callback = nullptr;
      stopped->timer.cancel();
    }
  };
}

}  // namespace hearth
