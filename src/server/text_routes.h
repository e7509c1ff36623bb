// POST /tokenize, /detokenize, /v1/chat/completions/render.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "hearth/token.h"
#include "server/api/chat_request.h"
#include "server/route_context.h"

namespace hearth {

// Names the fields that were ignored in a Warning header, if there are any.
void AddWarning(HttpHeaders& headers, const std::vector<std::string>& unknown);

// A chat request's prompt, as text and tokens.
struct ChatTokens {
  api::ChatPrompt prompt;
  std::vector<TokenId> tokens;
};

// Errors: those of the template and the tokenizer. Takes as long as they do: for the pool.
ChatTokens TokensOfChat(
    const ModelText& text, const api::ChatRequest& request, std::optional<bool> thinking
);

boost::asio::awaitable<void> AnswerTokenize(RouteContext context, HttpExchange& exchange);
boost::asio::awaitable<void> AnswerDetokenize(RouteContext context, HttpExchange& exchange);
boost::asio::awaitable<void> AnswerRender(RouteContext context, HttpExchange& exchange);

}  // namespace hearth
