// Sums over a row of logits and the draw from it, in an order that is fixed by the token ids alone, so that
// the bits do not depend on an instruction set or on how the row was filtered.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hearth/token.h"
#include "kernels/sampling_kernels.h"
#include "sampling/candidate.h"

namespace hearth {

// The largest logit and the lowest id that has it.
struct Peak {
  float logit = 0;
  TokenId token = 0;
};

// Shapes: logits [vocabulary]. -inf stands for a token that may not be chosen.
// Errors: Error(kInternal), naming the token, when a logit is NaN or +inf; also when none is above -inf.
Peak FindPeak(std::span<const float> logits, const SamplingKernels& kernels);

// Sum of exp(logit - peak) over the row: 16 strided lanes, then halves added pairwise. At least 1.
double SumOfWeights(std::span<const float> logits, float peak, const SamplingKernels& kernels);

// Two numbers with SumOfWeights between them, a few hundred thousandths apart, in a fraction of its time.
struct SumBounds {
  double least;
  double most;
};

SumBounds BoundSumOfWeights(
    std::span<const float> logits, float peak, const SamplingKernels& kernels
);

// The categorical distribution exp((logit - peak) / temperature), up to a factor.
// Units:   temperature > 0.
// Threads: one at a time.
// Cost:    one pass over the row with an exponential for each token; keeps one number a block.
class Distribution {
 public:
  // Borrows the logits until the last call of Draw or Probability.
  Distribution(
      std::span<const float> logits, float peak, double temperature, const SamplingKernels& kernels
  );

  // The first token, in order of ids, whose cumulated probability is above uniform (in [0, 1)).
  // A token at -inf is never drawn.
  TokenId Draw(double uniform) const;

  double Probability(TokenId token) const;

 private:
  std::span<const float> logits_;
  double peak_;
  double temperature_;
  std::vector<double> ends_;  // [blocks] cumulated weight at the end of each block of tokens
};

// Draw of the distribution in which only the tokens of `kept` are above -inf; the same bits, without the row.
// Shapes: kept [any, at least one], by ascending id; peak is their largest logit.
TokenId DrawKept(
    std::span<const Candidate> kept,
    float peak,
    double temperature,
    double uniform,
    const SamplingKernels& kernels
);

}  // namespace hearth
