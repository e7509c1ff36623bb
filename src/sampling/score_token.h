// The log-probability of a given token: what a sampler reports of the token that it chose, for one that was there already.
#pragma once

#include <cstddef>
#include <span>

#include "hearth/token.h"
#include "kernels/sampling_kernels.h"
#include "sampling/sampler.h"

namespace hearth {

// Shapes: logits [>= vocabulary], not changed. The same bits as Sampler with `top` top_logprobs and without processors.
// Errors: those of Sampler::Sample; kInvalidArgument when the token is not in the vocabulary.
// Cost:   two passes over the vocabulary, one more for `top`.
SampledToken ScoreToken(
    std::span<const float> logits,
    TokenId token,
    std::size_t top,
    std::size_t vocabulary,
    const SamplingKernels& kernels
);

}  // namespace hearth
