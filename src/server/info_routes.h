// What a server says about itself. None of these waits for the engine.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "server/route_context.h"

namespace hearth {

// "POST /v1/chat/completions" and so on.
std::vector<std::string> ServerEndpoints();

boost::asio::awaitable<void> AnswerModels(RouteContext context, HttpExchange& exchange);
boost::asio::awaitable<void> AnswerModel(RouteContext context, HttpExchange& exchange);
boost::asio::awaitable<void> AnswerIndex(RouteContext context, HttpExchange& exchange);
boost::asio::awaitable<void> AnswerHealth(RouteContext context, HttpExchange& exchange);
boost::asio::awaitable<void> AnswerLive(RouteContext context, HttpExchange& exchange);
boost::asio::awaitable<void> AnswerMetrics(RouteContext context, HttpExchange& exchange);
boost::asio::awaitable<void> AnswerStats(RouteContext context, HttpExchange& exchange);
boost::asio::awaitable<void> AnswerFit(RouteContext context, HttpExchange& exchange);

}  // namespace hearth
