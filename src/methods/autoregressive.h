// One token after another: how a model, a sequence and a sampler make an answer. Knows LanguageModel only.
//
// A row is its tokens and how many of them the sequence has cached. Prompt and answer are fed alike: a prompt is many tokens
// that wait, decoding is one, and a row that gave its pages up is a long prompt again; its answer is the same.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "hearth/generation.h"
#include "hearth/token.h"
#include "kv/sequence.h"
#include "models/language_model.h"
#include "sampling/sample_rows.h"
#include "sampling/sampler.h"

namespace hearth {

struct AutoregressiveOptions {
  std::size_t max_tokens =
      512;  // bounded by what is left of the context; 0 computes the prompt only
  std::vector<TokenId> stop_tokens{};  // end the answer and are not delivered
};

// Ownership: owns its tokens and its sampler; the sequence is lent for each call.
// Threads:   one at a time.
class AutoregressiveRow {
 public:
  // Errors: kInvalidArgument for an empty prompt, kResourceExhausted when it leaves no room in the context for a token
  //         that is wanted (with both numbers).
  AutoregressiveRow(
      std::vector<TokenId> prompt,
      AutoregressiveOptions options,
      Sampler sampler,
      std::size_t context_length
  );

  // The prompt and what was generated, oldest first.
  std::span<const TokenId> tokens() const { return tokens_; }

  std::span<const TokenId> prompt() const { return tokens().first(prompt_tokens_); }

  std::size_t generated() const { return generated_; }

  std::size_t most_generated() const { return limit_; }

  // Tokens that wait to be fed to `sequence`.
  std::size_t Unfed(const KvSequence& sequence) const { return tokens_.size() - sequence.length(); }

  // The next `count` of them (1 .. Unfed), the last with logits when a token is to be sampled after it.
  // Life: until the row changes.
  ForwardRow Feed(KvSequence& sequence, std::size_t count) const;

  // What SampleRows needs once all tokens are fed; logits [vocabulary] may be changed.
  SampleRow Choose(std::span<float> logits);

  // Whether the answer has come to its end without another token: at the limit (of 0: once the prompt is fed).
  bool AtLimit() const { return generated_ == limit_; }

  // Takes what was sampled. False: it ends the answer (a stop token) and belongs to nobody.
  bool Take(const SampledToken& sampled);

 private:
  std::vector<TokenId> tokens_;
  std::size_t prompt_tokens_;
  std::size_t generated_ = 0;
  std::size_t limit_;
  std::vector<TokenId> stop_tokens_;
  Sampler sampler_;
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
  std::optional<FinishReason> reason;  // none when cancelled
  AutoregressiveTimings timings;
};

// The receiver's word on each token: false wants no more.
using TokenReceiver = std::function<bool(const SampledToken&)>;

// Runs one row alone, on the caller. What `sequence` has cached is the beginning of the row's prompt and is not forwarded again; at
// least one prompt token must remain. Afterwards the sequence holds the prompt and every delivered token but perhaps
// the last. `prefill_chunk` prompt tokens go into one forward: that changes speed, never the answer.
// Threads: cancelled() is asked before each forward.
// Errors:  kInvalidArgument for a wholly cached prompt; those of Forward and Sample, and of `receiver`.
AutoregressiveResult GenerateAutoregressive(
    LanguageModel& model,
    KvSequence& sequence,
    AutoregressiveRow row,
    std::size_t prefill_chunk,
    const TokenReceiver& receiver,
    const std::function<bool()>& cancelled
);

}  // namespace hearth
