#include "sampling/distribution.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "hearth/error.h"
#include "kernels/exp_sums.h"
#include "kernels/scalar_math.h"

namespace hearth {
namespace {

[[noreturn]] void RefuseUnordered(std::span<const float> logits) {
  const auto wrong = std::find_if(logits.begin(), logits.end(), [](float logit) {
    return !(logit <= std::numeric_limits<float>::max());
  });
  throw Error(
      ErrorCode::kInternal,
      "sampling: got " + std::string(*wrong > 0 ? "+inf" : "NaN") + " as the logit of token " +
          std::to_string(wrong - logits.begin()) + ", wanted a number or -inf"
  );
}

}  // namespace

Peak FindPeak(std::span<const float> logits, const SamplingKernels& kernels) {
  const RowPeak peak = kernels.find_row_peak(logits.data(), logits.size());
  if (!peak.ordered) {
    RefuseUnordered(logits);
  }
  if (peak.value == -std::numeric_limits<float>::infinity()) {
    throw Error(
        ErrorCode::kInternal,
        "sampling: got -inf for all " + std::to_string(logits.size()) +
            " tokens, wanted at least one that may be chosen"
    );
  }
  return {.logit = peak.value, .token = static_cast<TokenId>(peak.index)};
}

double SumOfWeights(std::span<const float> logits, float peak, const SamplingKernels& kernels) {
  return kernels.exp_total({logits.data(), logits.size(), static_cast<double>(peak), 1});
}

SumBounds BoundSumOfWeights(
    std::span<const float> logits, float peak, const SamplingKernels& kernels
) {
  const double estimate = kernels.exp_estimate({logits.data(), logits.size(), peak});
  return {
      .least = estimate * (1 - 2 * kExpEstimateError),
      .most = estimate * (1 + 2 * kExpEstimateError),
  };
}

// A leaf of the sum is a block of kExpBlock tokens, which are added one after the other, then the blocks.
Distribution::Distribution(
    std::span<const float> logits, float peak, double temperature, const SamplingKernels& kernels
)
    : logits_(logits),
      peak_(static_cast<double>(peak)),
      temperature_(temperature),
      ends_((logits.size() + kExpBlock - 1) / kExpBlock) {
  kernels.exp_block_sums({logits.data(), logits.size(), peak_, temperature}, ends_.data());
  double end = 0;
  for (double& sum : ends_) {
    end += sum;
    sum = end;
  }
}

TokenId Distribution::Draw(double uniform) const {
  // Below the last end: uniform is at most 1 - 2^-53, and the product with that rounds to less than the total.
  const double target = uniform * ends_.back();
  const auto block = std::upper_bound(ends_.begin(), ends_.end(), target);
  const double start = block == ends_.begin() ? 0 : *(block - 1);
  const std::size_t first = static_cast<std::size_t>(block - ends_.begin()) * kExpBlock;
  const std::size_t count = std::min(kExpBlock, logits_.size() - first);
  std::array<double, kExpBlock> weights;
  for (std::size_t i = 0; i < count; ++i) {
    weights[i] = (static_cast<double>(logits_[first + i]) - peak_) / temperature_;
  }
  ExpArray(weights.data(), weights.data(), count);
  // The same additions as in the constructor, so that the last sum is the block's end, above the target. A
  // weight of zero does not move the sum, so such a token is never the first above it.
  double sum = 0;
  std::size_t i = 0;
  for (; i + 1 < count; ++i) {
    sum += weights[i];
    if (start + sum > target) {
      break;
    }
  }
  return static_cast<TokenId>(first + i);
}

double Distribution::Probability(TokenId token) const {
  return Exp((static_cast<double>(logits_[token]) - peak_) / temperature_) / ends_.back();
}

TokenId DrawKept(
    std::span<const Candidate> kept,
    float peak,
    double temperature,
    double uniform,
    const SamplingKernels& kernels
) {
  std::vector<float> logits(kept.size());
  std::transform(kept.begin(), kept.end(), logits.begin(), [](const Candidate& candidate) {
    return candidate.logit;
  });
  std::vector<double> weights(kept.size());
  kernels.exp_terms(
      {logits.data(), logits.size(), static_cast<double>(peak), temperature}, weights.data()
  );
  // The additions of the whole row but for its zeros, which change no sum: within a block, then the blocks.
  // visit(i, end) gets the cumulated weight behind each token and says whether to stop.
  const auto walk = [&](const auto& visit) {
    double start = 0;
    double sum = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (i > 0 && kept[i].token / kExpBlock != kept[i - 1].token / kExpBlock) {
        start += sum;
        sum = 0;
      }
      sum += weights[i];
      if (visit(i, start + sum)) {
        return;
      }
    }
  };
  double total = 0;
  walk([&](std::size_t, double end) {
    total = end;
    return false;
  });
  const double target = uniform * total;
  std::size_t chosen = 0;
  walk([&](std::size_t i, double end) {
    chosen = i;
    return end > target;
  });
  return kept[chosen].token;
}

}  // namespace hearth
