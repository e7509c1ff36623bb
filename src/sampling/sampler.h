// Chooses one token from one row of logits: processors, filters, draw, log-probabilities. One object a
// choice of a request; it must never know of batches, speculation or time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hearth/sampling_parameters.h"
#include "hearth/token.h"
#include "kernels/sampling_kernels.h"
#include "sampling/filters.h"
#include "sampling/processors.h"
#include "sampling/selection.h"

namespace hearth {

// What a sampler must know of the model.
struct SamplerVocabulary {
  // Ids from here on have no token (the head is padded) and are never chosen or reported.
  std::size_t size = 0;

  // End-of-text tokens and line breaks, which XTC leaves alone.
  std::vector<TokenId> xtc_exempt = {};
};

struct TokenLogprob {
  TokenId token = 0;
  double logprob = 0;  // natural logarithm

  bool operator==(const TokenLogprob&) const = default;
};

struct SampledToken {
  TokenId token = 0;

  // Present when top_logprobs is set. The log-probability over the whole vocabulary after the processors,
  // before filters and temperature; never NaN or infinite.
  std::optional<double> logprob = {};

  // The most probable tokens in descending order, the lowest id first of equal ones. Tokens at -inf are left out,
  // so there may be fewer than asked for.
  std::vector<TokenLogprob> top_logprobs = {};

  bool operator==(const SampledToken&) const = default;
};

// The result of Sample depends on nothing but the constructor's arguments and its own: not on earlier calls,
// on other rows, on the caller's float mode, or on the machine.
// Threads: one at a time; different samplers are independent.
// Cost:    one pass over the vocabulary; another for each of: reported log-probabilities, top_p, a draw without
//          filters. Holds at most MostBytes, which only penalties and filters come near.
class Sampler {
 public:
  // seed is the choice's own (ChoiceSeed); parameters.seed is not looked at.
  // Errors: Error(kInvalidArgument) from Validate.
  Sampler(
      const SamplingParameters& parameters,
      std::uint64_t seed,
      SamplerVocabulary vocabulary,
      const SamplingKernels& kernels
  );

  // What a sampler holds at most, whatever its parameters.
  static std::size_t MostBytes(std::size_t vocabulary);

  // Shapes: logits [>= vocabulary.size], changed by the processors alone; history [any]:
  //         the prompt and every token fed since, oldest first.
  // Units:  step counts this choice's sampled tokens from 0.
  // Errors: Error(kInternal) for this row alone: a NaN or +inf among the logits, all of them -inf, or fewer logits than
  //         tokens. The sampler may be used again.
  SampledToken Sample(
      std::span<float> logits, std::span<const TokenId> history, std::uint64_t step
  );

 private:
  // sum is SumOfWeights of the row, if it is known.
  TokenId Draw(
      std::span<const float> row, Peak peak, std::optional<double> sum, std::uint64_t step
  );
  std::vector<TokenLogprob> TopLogprobs(std::span<const float> row, float peak, double log_sum);

  SamplingParameters parameters_;
  std::uint64_t seed_;
  SamplerVocabulary vocabulary_;
  SamplingKernels kernels_;
  Processors processors_;
  Filters filters_;
  Selection selection_;
  std::vector<Candidate> top_;  // scratch
};

}  // namespace hearth
