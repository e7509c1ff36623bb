#include "sampling/sampler.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "hearth/error.h"
#include "kernels/scalar_math.h"
#include "platform/float_mode.h"
#include "sampling/distribution.h"
#include "sampling/seed.h"

namespace hearth {
namespace {

// XTC's number comes from a split of the step's key, so that switching it on leaves the draw what it was.
constexpr std::uint64_t kXtcSplit = 0;

constexpr float kMasked = -std::numeric_limits<float>::infinity();

}  // namespace

Sampler::Sampler(
    const SamplingParameters& parameters,
    std::uint64_t seed,
    SamplerVocabulary vocabulary,
    const SamplingKernels& kernels
)
    : parameters_(parameters),
      seed_(seed),
      vocabulary_(std::move(vocabulary)),
      kernels_(kernels),
      filters_(kernels),
      selection_(kernels) {
  Validate(parameters_, vocabulary_.size);
}

std::size_t Sampler::MostBytes(std::size_t vocabulary) {
  // Counts of the penalties, and lists of candidates: one that was doubled as it grew, one that is being doubled, and scratch.
  const std::size_t token_bytes = sizeof(std::uint32_t) + 6 * sizeof(Candidate);
  // The ids that the two selections look at, and the list of the most probable tokens.
  constexpr std::size_t kFixedBytes = 128 * 1024;
  return sizeof(Sampler) + kFixedBytes + token_bytes * vocabulary;
}

SampledToken Sampler::Sample(
    std::span<float> logits, std::span<const TokenId> history, std::uint64_t step
) {
  if (logits.size() < vocabulary_.size) {
    throw Error(
        ErrorCode::kInternal,
        "sampling: got " + std::to_string(logits.size()) +
            " logits, wanted at least one for each of " + std::to_string(vocabulary_.size) +
            " tokens"
    );
  }
  const FloatModeScope mode(FloatMode::kIeee);
  const std::span<float> row = logits.first(vocabulary_.size);
  processors_.Apply(parameters_, row, history);
  const Peak peak = FindPeak(row, kernels_);

  SampledToken sampled;
  std::optional<double> sum;
  double log_sum = 0;
  if (parameters_.top_logprobs) {
    sum = SumOfWeights(row, peak.logit, kernels_);
    log_sum = Log(*sum);
    sampled.top_logprobs = TopLogprobs(row, peak.logit, log_sum);
  }
  sampled.token = IsGreedy(parameters_) ? peak.token : Draw(row, peak, sum, step);
  if (parameters_.top_logprobs) {
    sampled.logprob =
        (static_cast<double>(row[sampled.token]) - static_cast<double>(peak.logit)) - log_sum;
  }
  return sampled;
}

TokenId Sampler::Draw(
    std::span<const float> row, Peak peak, std::optional<double> sum, std::uint64_t step
) {
  const std::uint64_t key = Mix(seed_, step);
  const double uniform = Uniform(key);
  const double temperature = parameters_.temperature;
  if (!Filters::Active(parameters_)) {
    return Distribution(row, peak.logit, temperature, kernels_).Draw(uniform);
  }
  const std::span<const Candidate> kept = filters_.Keep(
      parameters_, vocabulary_.xtc_exempt, Uniform(Mix(key, kXtcSplit)), peak, row, sum
  );
  // XTC may have taken the peak; weights relative to it could all vanish at a low temperature.
  const auto first = std::min_element(kept.begin(), kept.end(), Before);
  return DrawKept(kept, first->logit, temperature, uniform, kernels_);
}

std::vector<TokenLogprob> Sampler::TopLogprobs(
    std::span<const float> row, float peak, double log_sum
) {
  selection_.Top(row, *parameters_.top_logprobs, kMasked, top_);
  std::sort(top_.begin(), top_.end(), Before);
  std::vector<TokenLogprob> result;
  result.reserve(top_.size());
  for (const Candidate& candidate : top_) {
    result.push_back({
        .token = candidate.token,
        .logprob = (static_cast<double>(candidate.logit) - static_cast<double>(peak)) - log_sum,
    });
  }
  return result;
}

}  // namespace hearth
