// Log probabilities in the two shapes of OpenAI's API.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "hearth/token.h"
#include "server/api/choice_text.h"
#include "server/api/json_body.h"

namespace hearth::api {

// The bytes of a token; may be a part of a character.
using TokenBytes = std::function<std::string_view(TokenId)>;

// Of chat: {"content": [{"token", "logprob", "bytes", "top_logprobs": [{"token", "logprob", "bytes"}]}], "refusal": null}.
// `token` is the text of the bytes, with U+FFFD for parts of characters; `bytes` has them all.
//
// Of completions: {"tokens", "token_logprobs", "top_logprobs": [{token: logprob}], "text_offset"}, where a token that is no
// text of its own is "bytes:\xe2\x82" and offsets count characters. A token without log probabilities has null.
//
// JSON has no infinities: a chosen token of probability zero has -9999, an alternative of probability zero is no
// alternative and is left out.
// Errors of both: Error(kInternal) for NaN or plus infinity: a broken number never leaves the server.
Json ChatLogprobs(std::span<const LogprobEntry> entries, const TokenBytes& bytes_of);
Json CompletionLogprobs(std::span<const LogprobEntry> entries, const TokenBytes& bytes_of);

}  // namespace hearth::api
