// Drops tokens from a row: top_p, min_p, XTC and top_k, in this order, which is mlx-lm's. They see the
// distribution without temperature. What is kept does not depend on how a sort orders equal logits.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "hearth/sampling_parameters.h"
#include "hearth/token.h"
#include "kernels/sampling_kernels.h"
#include "sampling/candidate.h"
#include "sampling/distribution.h"
#include "sampling/selection.h"

namespace hearth {

// Holds only scratch.
// Threads: one at a time.
// Cost:    a pass over the row, another with a rough exponential for each token when top_p is on, then work on the tokens
//          that can still be kept: top_k of them, else with top_p those whose probability is above
//          (1 - top_p) / (2 vocabulary). Sorts few of them. Where a rough sum does not decide what top_p keeps (one row
//          in a hundred, or many tokens to choose from) a pass with exact exponentials does. Holds up to 24 bytes a
//          token id between calls.
class Filters {
 public:
  explicit Filters(const SamplingKernels& kernels) : kernels_(kernels), selection_(kernels) {}

  // Whether Keep can drop anything.
  static bool Active(const SamplingParameters& parameters);

  // The tokens that stay, by ascending id; valid until the next call. At least one: the peak's, unless XTC takes it.
  // Shapes: logits [vocabulary]; peak is theirs; xtc_exempt [any]: tokens that XTC never drops (end of text, line break).
  // Units:  xtc_uniform in [0, 1): this step's number for XTC. sum is SumOfWeights of the row, if the caller has it.
  // The parameters have passed Validate.
  std::span<const Candidate> Keep(
      const SamplingParameters& parameters,
      std::span<const TokenId> xtc_exempt,
      double xtc_uniform,
      Peak peak,
      std::span<const float> logits,
      std::optional<double> sum = {}
  );

 private:
  double LeastLogarithm(const SamplingParameters& parameters, double sum, std::size_t size) const;
  float TopPEdge(double top_p, SumBounds bounds, Peak peak, std::span<const float> logits);
  void MinP(double min_p, std::size_t keep);
  void Xtc(double threshold, std::span<const TokenId> exempt);
  void TopK(std::size_t keep);
  Candidate NthOf(std::size_t place);
  double Weight(const Candidate& candidate) const;

  SamplingKernels kernels_;
  Selection selection_;
  double peak_ = 0;
  std::vector<Candidate> candidates_;  // by ascending id
  std::vector<Candidate> order_;       // scratch, in another order
};

}  // namespace hearth
