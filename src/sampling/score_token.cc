#include "sampling/score_token.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "kernels/scalar_math.h"
#include "platform/float_mode.h"
#include "sampling/distribution.h"
#include "sampling/selection.h"

namespace hearth {

SampledToken ScoreToken(
    std::span<const float> logits,
    TokenId token,
    std::size_t top,
    std::size_t vocabulary,
    const SamplingKernels& kernels
) {
  if (token >= vocabulary || logits.size() < vocabulary) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "score: got token " + std::to_string(token) + " and " + std::to_string(logits.size()) +
            " logits, wanted a token of the vocabulary of " + std::to_string(vocabulary)
    );
  }
  const FloatModeScope mode(FloatMode::kIeee);
  const std::span<const float> row = logits.first(vocabulary);
  const Peak peak = FindPeak(row, kernels);
  const double log_sum = Log(SumOfWeights(row, peak.logit, kernels));
  const auto logprob = [&](float logit) {
    return (static_cast<double>(logit) - static_cast<double>(peak.logit)) - log_sum;
  };
  SampledToken scored;
  scored.token = token;
  scored.logprob = logprob(row[token]);
  if (top > 0) {
    Selection selection(kernels);
    std::vector<Candidate> candidates;
    selection.Top(row, top, -std::numeric_limits<float>::infinity(), candidates);
    std::sort(candidates.begin(), candidates.end(), Before);
    for (const Candidate& candidate : candidates) {
      scored.top_logprobs.push_back({candidate.token, logprob(candidate.logit)});
    }
  }
  return scored;
}

}  // namespace hearth
