// POST /tokenize, /detokenize and /v1/chat/completions/render: values of their requests, and their bodies. The fields of
// llama-server (content, add_special, parse_special, with_pieces) and of vLLM (prompt or messages, add_special_tokens,
// return_token_strs) are both known, and an answer has what either of their clients reads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hearth/token.h"
#include "server/api/chat_request.h"
#include "server/api/json_body.h"
#include "server/api/logprobs_body.h"

namespace hearth::api {

struct TokenizeRequest {
  std::string text{};                 // of content or prompt
  std::optional<ChatRequest> chat{};  // of messages: the text is then what its template renders
  bool add_special = false;  // default: false for content, true for prompt, false for messages
  bool parse_special = true;
  bool with_pieces = false;
  std::vector<std::string> unknown{};
};

// Errors of both: RequestError(400) naming the field; of several inputs, or of none.
TokenizeRequest ReadTokenizeRequest(const Json& body);

// {"tokens": [...]} to text.
std::vector<TokenId> ReadDetokenizeRequest(const Json& body);

// {"tokens": [ids], "count", "max_model_len"}; with pieces, tokens are {"id", "piece"} as llama-server has them (a piece
// that is no text of its own is an array of bytes), and "token_strs" has the texts.
Json TokenizeBody(
    std::span<const TokenId> tokens,
    std::uint64_t context_length,
    bool with_pieces,
    const TokenBytes& bytes_of
);

// {"content", "prompt"}: the same text under both names.
Json DetokenizeBody(const std::string& text);

// {"prompt", "token_ids", "count", "opens_thinking"}: what a chat request would run, without running it.
Json RenderBody(const ChatPrompt& prompt, std::span<const TokenId> tokens);

}  // namespace hearth::api
