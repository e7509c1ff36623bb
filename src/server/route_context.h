// What every route works with, and the ways to answer that they share.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <string>
#include <utility>

#include "server/api/api_error.h"
#include "server/api/json_body.h"
#include "server/http/http_service.h"
#include "server/served_model.h"
#include "server/server_options.h"

namespace hearth {

struct RouteContext {
  const ServerOptions& options;
  ServedModel& model;
  boost::asio::thread_pool& text;  // for templates and tokens
};

// One answer in JSON. Each ends the exchange.
boost::asio::awaitable<void> RespondJson(
    HttpExchange& exchange, int status, api::Json body, HttpHeaders headers = {}
);
boost::asio::awaitable<void> RespondError(HttpExchange& exchange, api::ApiError error);

namespace route_internal {

template <class T>
boost::asio::awaitable<T> Call(std::function<T()> work) {
  co_return work();
}

}  // namespace route_internal

// Runs `work` on the pool for texts and comes back. What it refers to must live until then.
template <class T>
boost::asio::awaitable<T> OnTextPool(RouteContext context, std::function<T()> work) {
  boost::asio::awaitable<T> running = boost::asio::co_spawn(
      context.text, route_internal::Call<T>(std::move(work)), boost::asio::use_awaitable
  );
  co_return co_await std::move(running);
}

}  // namespace hearth
