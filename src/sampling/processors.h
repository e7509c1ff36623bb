// Logit bias and the three penalties. Knows logits and token ids, not why a token is in the history.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hearth/sampling_parameters.h"
#include "hearth/token.h"

namespace hearth {

// Holds only scratch. Changes logits by the parameters, in this order: bias, repetition, presence, frequency.
// Ids at or above the row's size are passed over, in the bias and in the history (a model may feed ids that it cannot
// answer). -inf stays -inf. Each change is computed in double and rounded once to float32.
// Threads: one at a time; rows do not share one.
// Cost:    the length of the contexts, not of the vocabulary; with a penalty on, keeps 4 bytes a token id.
// Source:  Keskar et al. 2019 (repetition penalty); the other two as OpenAI's API defines them.
class Processors {
 public:
  // Shapes: logits [vocabulary], changed in place; history [any]: prompt and answer so far, oldest first.
  // The parameters have passed Validate.
  void Apply(
      const SamplingParameters& parameters,
      std::span<float> logits,
      std::span<const TokenId> history
  );

 private:
  // Calls change(logit, count) once for each distinct token of the last `context` of the history.
  template <typename Change>
  void ForEachInContext(
      std::span<float> logits,
      std::span<const TokenId> history,
      std::uint32_t context,
      const Change& change
  );

  std::vector<std::uint32_t> counts_;  // [vocabulary], all zero between calls
};

}  // namespace hearth
