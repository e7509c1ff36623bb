// The calls of hearth for programs that run on Asio: coroutines that wait for the engine and come back to their own executor.
//
// Threads: from any executor; a coroutine is resumed on the executor that it runs on, through its queue. The execution context
//          counts the call as outstanding work. It must outlive the engine or be destroyed after Engine::Close: the engine
//          may still be inside the call that hands a coroutine back when that coroutine has ended already.
//          Asio's own cancellation is not listened to; GenerationHandle::Cancel is.
// Errors:  those of the functions of the same name, thrown at the awaiter.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "hearth/generation_handle.h"
#include "hearth/generation_request.h"

namespace hearth {

// Turns a function with a Completion into something to await: `start` is called once, when it is awaited.
template <class T>
boost::asio::awaitable<T> Await(std::function<void(Completion<T>)> start) {
  namespace asio = boost::asio;
  return asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr, T)>(
      []<class Handler>(Handler&& handler, std::function<void(Completion<T>)> begin) {
        using Stored = std::decay_t<Handler>;
        struct Waiting {
          explicit Waiting(Handler&& h)
              : handler(std::forward<Handler>(h)), guard(asio::get_associated_executor(handler)) {}

          Stored handler;  // owns the frames of the coroutine that waits
          asio::executor_work_guard<asio::associated_executor_t<Stored>> guard;
        };
        begin([waiting = std::make_shared<Waiting>(std::forward<Handler>(handler))](
                  std::exception_ptr error, T value
              ) {
          const auto executor = waiting->guard.get_executor();
          // Nothing of the coroutine is left on this thread.
          asio::post(
              executor,
              [handler = std::move(waiting->handler),
               guard = std::move(waiting->guard),
               error = std::move(error),
               value = std::move(value)]() mutable {
                std::move(handler)(std::move(error), std::move(value));
              }
          );
        });
      },
      asio::use_awaitable,
      std::move(start)
  );
}

// Engine::Open. The engine outlives the call.
template <class AnyEngine>
boost::asio::awaitable<GenerationHandle> Open(
    AnyEngine& engine, GenerationRequest request, Delivery delivery = {}
) {
  return Await<GenerationHandle>(
      [&engine, request = std::move(request), delivery = std::move(delivery)](auto done) mutable {
        engine.Open(std::move(request), std::move(delivery), std::move(done));
      }
  );
}

inline boost::asio::awaitable<std::optional<GenerationEvent>> Next(GenerationHandle handle) {
  return Await<std::optional<GenerationEvent>>([handle = std::move(handle)](auto done) {
    handle.Next(std::move(done));
  });
}

inline boost::asio::awaitable<GenerationOutcome> Result(GenerationHandle handle) {
  return Await<GenerationOutcome>([handle = std::move(handle)](auto done) {
    handle.Result(std::move(done));
  });
}

}  // namespace hearth
