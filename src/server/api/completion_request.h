// POST /v1/completions, as values.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "hearth/token.h"
#include "server/api/generation_fields.h"
#include "server/api/json_body.h"

namespace hearth::api {

inline constexpr std::size_t kMaxPrompts = 1024;         // of one request
inline constexpr std::size_t kMaxRequestAnswers = 1024;  // prompts times n

// A text to tokenize, or tokens as they are.
using PromptInput = std::variant<std::string, std::vector<TokenId>>;

struct CompletionRequest {
  GenerationFields
      generation{};  // max_tokens may be 0: nothing but the prompt, for its log probabilities
  std::vector<PromptInput> prompts{};  // at least one; choice i of prompt p has index p * n + i
  bool echo = false;                   // the answer begins with the prompt
};

// `prompt` is a string, an array of strings, an array of token ids, or an array of such arrays. logprobs counts the
// alternatives (0 to 20; true is 0, false and -1 are absent). A suffix is refused, and best_of above n.
// Errors: RequestError(400) naming the field.
CompletionRequest ReadCompletionRequest(const Json& body);

// An array of token ids. Errors: RequestError(400) with the path of the first that is none.
std::vector<TokenId> ReadTokenIds(const Json& ids, const std::string& path);

}  // namespace hearth::api
