#include "engine/scheduling.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "hearth/error.h"

namespace hearth {

boost::asio::awaitable<LeaseRelease> ExecutionGroup::AcquireExecution() {
  throw Error(ErrorCode::kInternal, "scheduler: the group has no execution lease");
  co_return LeaseRelease();
}

std::chrono::nanoseconds LoopClock::Now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

boost::asio::awaitable<void> LoopClock::Yield() {
  co_await boost::asio::post(boost::asio::use_awaitable);
}

}  // namespace hearth
