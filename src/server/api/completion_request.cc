#include "server/api/completion_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "server/api/api_error.h"

namespace hearth::api {
namespace {

constexpr std::string_view kWantedPrompt =
    "a string, an array of strings, an array of token ids, or an array of arrays of token ids";

PromptInput ReadPrompt(const Json& prompt, const std::string& path) {
  if (prompt.is_string()) {
    return prompt.get<std::string>();
  }
  if (!prompt.is_array()) {
    FailAt(path, prompt, kWantedPrompt);
  }
  if (prompt.empty()) {
    throw RequestError(
        InvalidRequest(path + ": got an empty array, wanted at least one token", path)
    );
  }
  return ReadTokenIds(prompt, path);
}

std::vector<PromptInput> ReadPrompts(ObjectReader& body) {
  const Json* value = body.Find("prompt");
  if (value == nullptr) {
    body.Fail("prompt", nullptr, kWantedPrompt);
  }
  std::vector<PromptInput> prompts;
  if (!value->is_array() || value->empty() || value->front().is_number()) {
    prompts.push_back(ReadPrompt(*value, "prompt"));
    return prompts;
  }
  if (value->size() > kMaxPrompts) {
    body.Fail("prompt", value->size(), fmt::format("at most {} prompts", kMaxPrompts));
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    prompts.push_back(ReadPrompt((*value)[i], fmt::format("prompt[{}]", i)));
  }
  return prompts;
}

std::optional<std::uint32_t> ReadCompletionLogprobs(ObjectReader& body) {
  const Json* value = body.Find("logprobs");
  if (value == nullptr || *value == false || *value == -1) {
    return std::nullopt;
  }
  if (*value == true) {
    return 0;
  }
  const auto number = body.Integer("logprobs", 0, kMaxTopLogprobs);
  return static_cast<std::uint32_t>(*number);
}

}  // namespace

std::vector<TokenId> ReadTokenIds(const Json& ids, const std::string& path) {
  if (!ids.is_array()) {
    FailAt(path, ids, "an array of token ids");
  }
  std::vector<TokenId> tokens;
  tokens.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = WholeNumber(ids[i], 0, std::numeric_limits<TokenId>::max());
    if (!id) {
      FailAt(fmt::format("{}[{}]", path, i), ids[i], "a token id");
    }
    tokens.push_back(static_cast<TokenId>(*id));
  }
  return tokens;
}

CompletionRequest ReadCompletionRequest(const Json& body) {
  ObjectReader reader(body);
  CompletionRequest request;
  request.generation = ReadGenerationFields(reader);
  request.prompts = ReadPrompts(reader);
  request.generation.max_tokens = ReadTokenLimit(reader, "max_tokens", 0);
  request.generation.top_logprobs = ReadCompletionLogprobs(reader);
  request.echo = reader.Bool("echo").value_or(false);
  reader.Refuse("suffix", "filling in is not supported by this server yet");
  const std::uint32_t n = request.generation.n;
  if (const auto best_of = reader.Integer("best_of", 1, kMaxChoices); best_of && *best_of > n) {
    throw RequestError(UnsupportedField("best_of", "more answers than n are not supported"));
  }
  if (request.prompts.size() * n > kMaxRequestAnswers) {
    reader.Fail(
        "n", n, fmt::format("at most {} answers of all prompts together", kMaxRequestAnswers)
    );
  }
  for (std::string& name : reader.Unknown()) {
    request.generation.unknown.push_back(std::move(name));
  }
  return request;
}

}  // namespace hearth::api
