// Suspends coroutines of one executor until somebody says that something has changed.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>
#include <vector>

namespace hearth {

// A condition variable without a lock: waiters look at their own state in a loop around Wait.
// Waiters are resumed through the executor, in the order in which they came, never inside NotifyAll; so the caller of
// NotifyAll finishes what it is doing first. A notification without waiters is forgotten.
// Life:      destroying it frees the coroutines that still wait, without resuming them: Asio does so through their
//            executor, which must still be there.
// Threads:   one executor that runs one handler at a time.
// Errors:    none. Asio's own cancellation of a single operation is not listened to.
class Condition {
 public:
  Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  boost::asio::awaitable<void> Wait() {
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
        Enqueue{this}, boost::asio::use_awaitable
    );
  }

  void NotifyAll() {
    for (const std::unique_ptr<Waiter>& waiter : std::exchange(waiters_, {})) {
      waiter->Resume();
    }
  }

 private:
  struct Waiter {
    virtual ~Waiter() = default;
    virtual void Resume() = 0;
  };

  template <class Handler>
  struct HandlerWaiter final : Waiter {
    explicit HandlerWaiter(Handler h) : handler(std::move(h)) {}

    // post, not dispatch: dispatch may run the handler here and now.
    void Resume() override { boost::asio::post(std::move(handler)); }

    Handler handler;
  };

  struct Enqueue {
    Condition* condition;

    template <class Handler>
    void operator()(Handler&& handler) {
      condition->waiters_.push_back(
          std::make_unique<HandlerWaiter<std::decay_t<Handler>>>(std::forward<Handler>(handler))
      );
    }
  };

  std::vector<std::unique_ptr<Waiter>> waiters_;
};

}  // namespace hearth
