// Where top_p cuts the order of tokens.
#pragma once

#include <span>
#include <vector>

#include "kernels/sampling_kernels.h"
#include "sampling/candidate.h"

namespace hearth {

// The lowest logit that stays. A token stays when the weight strictly above it, added up one token after the other in the
// order of Before, is below top_p * sum; so equal ones stay or go together.
// Shapes: candidates [at least one, in any order], every token that can stay among them; scratch takes any size.
// Units:  weights are exp(logit - peak); sum is that of the whole row, at least 1. 0 < top_p < 1.
// Cost:   of some hundred candidates, sorts those that stay. Of more it sorts a slice around the cut: sums a slice
//         decide, unless they come so near to the cut that the order of the additions could matter; then it sorts.
float NucleusEdge(
    std::span<const Candidate> candidates,
    double peak,
    double top_p,
    double sum,
    const SamplingKernels& kernels,
    std::vector<Candidate>& scratch
);

}  // namespace hearth
