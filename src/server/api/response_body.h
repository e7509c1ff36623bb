// Answers of /v1/chat/completions and /v1/completions as JSON: whole, and in chunks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/generation.h"
#include "server/api/choice_text.h"
#include "server/api/json_body.h"
#include "server/api/logprobs_body.h"

namespace hearth::api {

enum class AnswerKind : std::uint8_t { kChat, kCompletion };

// What every object of one answer carries.
struct AnswerHead {
  AnswerKind kind = AnswerKind::kChat;
  std::string id{};          // AnswerId
  std::int64_t created = 0;  // seconds since 1970
  std::string model{};
  std::string system_fingerprint{};  // of what decides the bits of an answer; empty: null
  // The seed that was used, so that an answer can be had again. Above 2^53 JavaScript would round it: draw below.
  std::optional<std::uint64_t> seed{};
};

// "chatcmpl-" or "cmpl-" and 32 hexadecimal digits of the caller's 128 random bits.
std::string AnswerId(AnswerKind kind, std::uint64_t high, std::uint64_t low);

// "stop" and "length" as JSON, null for none.
Json FinishReasonJson(std::optional<FinishReason> reason);

// Counts of one answer. Tokens of a prompt count once, however many choices it has.
struct UsageCounts {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;
  std::uint64_t completion_tokens = 0;  // of all choices
  std::uint64_t reasoning_tokens = 0;   // of those

  bool operator==(const UsageCounts&) const = default;
};

// {prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: {cached_tokens},
//  completion_tokens_details: {reasoning_tokens}}
Json UsageBody(const UsageCounts& usage);

// Where the time went, under llama-server's names (counts, milliseconds, tokens per second), with queue_ms besides. Several
// choices: the longest times, and all tokens that were generated.
Json TimingsBody(std::span<const GenerationMetrics> choices);

// One choice: the sum of its deltas.
struct ChoiceAnswer {
  ChoiceDelta text{};
  FinishReason finish_reason = FinishReason::kStop;
};

// The whole answer. `bytes_of` is for log probabilities; nothing when they were not asked for (then "logprobs" is null).
// `timings` null is left out.
// Errors: those of logprobs_body.h.
Json AnswerBody(
    const AnswerHead& head,
    std::span<const ChoiceAnswer> choices,
    const UsageCounts& usage,
    const Json& timings = {},
    const TokenBytes& bytes_of = {}
);

// The chunk with `choices` as they are given.
Json ChunkBody(const AnswerHead& head, Json choices);

}  // namespace hearth::api
