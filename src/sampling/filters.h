// Drops tokens from a row: top_p, min_p, XTC and top_k, in this order, which is mlx-lm's. They see the
// distribution without temperature. What is kept does not depend on how a sort orders equal logits.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "contracts/sampling_parameters.h"
#include "contracts/token.h"
#include "sampling/distribution.h"

namespace hearth {

// Holds only scratch.
// Threads: one at a time.
// Cost:    one pass over the row, then work on the tokens that can still be kept: with top_p those whose
//          probability is above (1 - top_p) / (2 vocabulary), of which it sorts those it keeps.
//          Holds up to 8 bytes a token id between calls.
class Filters {
 public:
  // Whether Apply can drop anything.
  static bool Active(const SamplingParameters& parameters);

  // Sets the logit of every dropped token to -inf; the peak's is always kept, unless XTC takes it.
  // Shapes: logits [vocabulary], changed in place; peak is theirs; xtc_exempt [any]: tokens that XTC never drops (end of
  //         text, line break).
  // Units:  xtc_uniform in [0, 1): this step's number for XTC.
  // The parameters have passed Validate.
  void Apply(
      const SamplingParameters& parameters,
      std::span<const TokenId> xtc_exempt,
      double xtc_uniform,
      Peak peak,
      std::span<float> logits
  );

 private:
  struct Candidate {
    float logit;
    TokenId token;
  };

  void Collect(const SamplingParameters& parameters, std::span<const float> logits, double sum);
  void TopP(double top_p, double sum);
  std::size_t SortOn(std::size_t sorted);
  void MinP(double min_p, std::size_t keep);
  void Xtc(double threshold, std::span<const TokenId> exempt);
  void TopK(std::size_t keep);

  static bool Before(const Candidate& a, const Candidate& b);
  double Weight(const Candidate& candidate) const;

  double peak_ = 0;
  std::vector<Candidate> candidates_;
};

}  // namespace hearth
