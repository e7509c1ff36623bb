// POST /v1/chat/completions and /v1/completions.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "server/route_context.h"

namespace hearth {

// Errors: RequestError and hearth::Error while the answer has not begun; later ones go into the answer.
boost::asio::awaitable<void> AnswerChat(RouteContext context, HttpExchange& exchange);
boost::asio::awaitable<void> AnswerCompletion(RouteContext context, HttpExchange& exchange);

}  // namespace hearth
