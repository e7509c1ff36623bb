// One token after another: how a model, a sequence and a sampler make an answer. Knows LanguageModel only.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "hearth/token.h"
#include "kv/sequence.h"
#include "models/language_model.h"
#include "sampling/sampler.h"

namespace hearth {

enum class FinishReason {
  kStop,       // a token that ends the answer, or the receiver wanted no more
  kLength,     // max_tokens, or the context is full
  kCancelled,  // cancelled() said so
};

struct AutoregressiveOptions {
  std::size_t max_tokens = 512;     // at least 1; bounded by what is left of the context
  std::size_t prefill_chunk = 512;  // prompt tokens of one forward; changes speed, never the answer
  std::vector<TokenId> stop_tokens{};  // end the answer and are not delivered
};

// Seconds of the parts of one answer.
struct AutoregressiveTimings {
  std::size_t cached_tokens = 0;     // prompt tokens that were not forwarded again
  std::size_t prompt_tokens = 0;     // all of the prompt's
  std::size_t generated_tokens = 0;  // delivered
  std::size_t decode_steps = 0;      // forwards after the first token
  double prefill_seconds = 0;        // until the first token was sampled
  double decode_seconds = 0;         // from there to the end
};

struct AutoregressiveResult {
  FinishReason reason = FinishReason::kStop;
  AutoregressiveTimings timings;
};

// The receiver's word on each token: false wants no more.
using TokenReceiver = std::function<bool(const SampledToken&)>;

// Answers `prompt`. What `sequence` has cached is the prompt's beginning and is not forwarded again; at least one
// prompt token must remain. Afterwards the sequence holds the prompt and every delivered token but perhaps the
// last.
// Threads: runs on the caller. cancelled() is asked between prefill chunks and between steps.
// Errors:  kInvalidArgument for an empty or wholly cached prompt, kResourceExhausted when the prompt does not fit
//          the context (with both numbers); those of Forward and Sample, and of `receiver`.
AutoregressiveResult GenerateAutoregressive(
    LanguageModel& model,
    KvSequence& sequence,
    Sampler& sampler,
    std::span<const TokenId> prompt,
    const AutoregressiveOptions& options,
    const TokenReceiver& receiver,
    const std::function<bool()>& cancelled
);

}  // namespace hearth
