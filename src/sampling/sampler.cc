#include "sampling/sampler.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "contracts/error.h"
#include "kernels/scalar_math.h"
#include "sampling/distribution.h"
#include "sampling/seed.h"

namespace hearth {
namespace {

// XTC's number comes from a split of the step's key, so that switching it on leaves the draw what it was.
constexpr std::uint64_t kXtcSplit = 0;

// The most probable tokens, without sorting the row: a list of at most `count`, kept in order.
std::vector<TokenLogprob> TopLogprobs(
    std::span<const float> logits, std::size_t count, float peak, double log_sum
) {
  struct Entry {
    float logit;
    TokenId token;
  };

  std::vector<Entry> top;
  top.reserve(count + 1);
  for (std::size_t token = 0; count > 0 && token < logits.size(); ++token) {
    const float logit = logits[token];
    if (logit == -std::numeric_limits<float>::infinity() ||
        (top.size() == count && logit <= top.back().logit)) {
      continue;
    }
    // Behind its equals, which have lower ids.
    const auto place = std::find_if(top.begin(), top.end(), [logit](const Entry& entry) {
      return entry.logit < logit;
    });
    top.insert(place, {.logit = logit, .token = static_cast<TokenId>(token)});
    if (top.size() > count) {
      top.pop_back();
    }
  }
  std::vector<TokenLogprob> result;
  result.reserve(top.size());
  for (const Entry& entry : top) {
    result.push_back({
        .token = entry.token,
        .logprob = (static_cast<double>(entry.logit) - static_cast<double>(peak)) - log_sum,
    });
  }
  return result;
}

}  // namespace

Sampler::Sampler(
    const SamplingParameters& parameters, std::uint64_t seed, SamplerVocabulary vocabulary
)
    : parameters_(parameters), seed_(seed), vocabulary_(std::move(vocabulary)) {
  Validate(parameters_, vocabulary_.size);
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
  const std::span<float> row = logits.first(vocabulary_.size);
  processors_.Apply(parameters_, row, history);
  const Peak peak = FindPeak(row);

  SampledToken sampled;
  double log_sum = 0;
  if (parameters_.top_logprobs) {
    log_sum = Log(SumOfWeights(row, peak.logit));
    sampled.top_logprobs = TopLogprobs(row, *parameters_.top_logprobs, peak.logit, log_sum);
  }
  if (IsGreedy(parameters_)) {
    sampled.token = peak.token;
  } else {
    const std::uint64_t key = Mix(seed_, step);
    filters_.Apply(parameters_, vocabulary_.xtc_exempt, Uniform(Mix(key, kXtcSplit)), peak, row);
    // XTC may have taken the peak; weights relative to it could all vanish at a low temperature.
    const float kept_peak = FindPeak(row).logit;
    sampled.token = Distribution(row, kept_peak, parameters_.temperature).Draw(Uniform(key));
  }
  if (parameters_.top_logprobs) {
    // The filters leave the logits of what they keep alone.
    sampled.logprob =
        (static_cast<double>(row[sampled.token]) - static_cast<double>(peak.logit)) - log_sum;
  }
  return sampled;
}

}  // namespace hearth
