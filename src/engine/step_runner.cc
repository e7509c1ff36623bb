#include "engine/step_runner.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace hearth {
namespace {

namespace asio = boost::asio;

// A coroutine that waits for its work, and the executor that it goes back to.
template <class Handler>
struct Waiting {
  explicit Waiting(Handler h)
      : handler(std::move(h)), guard(asio::get_associated_executor(handler)) {}

  Handler handler;  // owns the coroutine's frames
  asio::executor_work_guard<asio::associated_executor_t<Handler>> guard;
};

// Nothing of the coroutine is destroyed on this thread: its frames travel on in the posted handler.
template <class Handler>
void RunAndReturn(Waiting<Handler>& waiting, const std::function<void()>& work) {
  std::exception_ptr error;
  try {
    work();
  } catch (...) {
    error = std::current_exception();
  }
  const auto executor = waiting.guard.get_executor();
  asio::post(
      executor,
      [handler = std::move(waiting.handler),
       guard = std::move(waiting.guard),
       error = std::move(error)]() mutable { std::move(handler)(std::move(error)); }
  );
}

}  // namespace

// `work` stays in this coroutine's frame, so what it captured is destroyed on the loop.
asio::awaitable<void> ThreadStepRunner::Run(std::function<void()> work) {
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(
      [this, &work]<class Handler>(Handler&& handler) {
        using Operation = Waiting<std::decay_t<Handler>>;
        // Shared because a std::function must be copyable.
        auto operation = std::make_shared<Operation>(std::forward<Handler>(handler));
        thread_.Start([operation, &work] { RunAndReturn(*operation, work); });
      },
      asio::use_awaitable
  );
}

}  // namespace hearth
