#include "engine/idle_timer.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace hearth {

IdleTimer::IdleTimer(
    boost::asio::any_io_executor executor, Timer& timer, std::chrono::milliseconds timeout
)
    : executor_(std::move(executor)),
      timer_(timer),
      timeout_(timeout),
      armed_(std::make_shared<std::uint64_t>(0)) {
}

void IdleTimer::Arm(std::function<void()> expired) {
  const std::uint64_t mine = ++*armed_;
  auto expire = [armed = armed_, mine, expired = std::move(expired)] {
    if (*armed == mine) {
      ++*armed;
      expired();
    }
  };
  stop_ = timer_.After(timeout_, [executor = executor_, expire = std::move(expire)] {
    boost::asio::post(executor, expire);
  });
}

void IdleTimer::Stop() {
  ++*armed_;
  if (const std::function<void()> stop = std::exchange(stop_, nullptr)) {
    stop();
  }
}

}  // namespace hearth
