#include "sampling/distribution.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "contracts/error.h"
#include "kernels/scalar_math.h"

namespace hearth {
namespace {

constexpr std::size_t kLanes = 16;

// A leaf of the sum: tokens [256 b, 256 b + 256) are added one after the other, then the blocks.
constexpr std::size_t kBlock = 256;

using Block = std::array<double, kBlock>;

// The weights of the block that starts at token `first`; returns how many there are.
std::size_t Weigh(
    std::span<const float> logits,
    std::size_t first,
    double peak,
    double temperature,
    Block& weights
) {
  const std::size_t count = std::min(kBlock, logits.size() - first);
  for (std::size_t i = 0; i < count; ++i) {
    weights[i] = (static_cast<double>(logits[first + i]) - peak) / temperature;
  }
  ExpArray(weights.data(), weights.data(), count);
  return count;
}

}  // namespace

Peak FindPeak(std::span<const float> logits) {
  Peak peak{.logit = -std::numeric_limits<float>::infinity(), .token = 0};
  for (std::size_t token = 0; token < logits.size(); ++token) {
    const float logit = logits[token];
    if (!(logit <= peak.logit)) {  // above the peak, or NaN
      if (!(logit <= std::numeric_limits<float>::max())) {
        throw Error(
            ErrorCode::kInternal,
            "sampling: got " + std::string(logit > 0 ? "+inf" : "NaN") + " as the logit of token " +
                std::to_string(token) + ", wanted a number or -inf"
        );
      }
      peak = {.logit = logit, .token = static_cast<TokenId>(token)};
    }
  }
  if (peak.logit == -std::numeric_limits<float>::infinity()) {
    throw Error(
        ErrorCode::kInternal,
        "sampling: got -inf for all " + std::to_string(logits.size()) +
            " tokens, wanted at least one that may be chosen"
    );
  }
  return peak;
}

double SumOfWeights(std::span<const float> logits, float peak) {
  std::array<double, kLanes> lanes{};
  Block weights;
  for (std::size_t first = 0; first < logits.size(); first += kBlock) {
    const std::size_t count = Weigh(logits, first, static_cast<double>(peak), 1, weights);
    // The rest of the last block counts as +0, so that the shape is always whole.
    std::fill(weights.begin() + static_cast<std::ptrdiff_t>(count), weights.end(), 0.0);
    for (std::size_t row = 0; row < kBlock; row += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += weights[row + lane];
      }
    }
  }
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) {
      lanes[lane] += lanes[lane + width];
    }
  }
  return lanes[0];
}

Distribution::Distribution(std::span<const float> logits, float peak, double temperature)
    : logits_(logits), peak_(static_cast<double>(peak)), temperature_(temperature) {
  ends_.reserve((logits.size() + kBlock - 1) / kBlock);
  Block weights;
  double end = 0;
  for (std::size_t first = 0; first < logits.size(); first += kBlock) {
    const std::size_t count = Weigh(logits, first, peak_, temperature_, weights);
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      sum += weights[i];
    }
    end += sum;
    ends_.push_back(end);
  }
}

TokenId Distribution::Draw(double uniform) const {
  // Below the last end: uniform is at most 1 - 2^-53, and the product with that rounds to less than the total.
  const double target = uniform * ends_.back();
  const auto block = std::upper_bound(ends_.begin(), ends_.end(), target);
  const double start = block == ends_.begin() ? 0 : *(block - 1);
  const std::size_t first = static_cast<std::size_t>(block - ends_.begin()) * kBlock;
  Block weights;
  const std::size_t count = Weigh(logits_, first, peak_, temperature_, weights);
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

}  // namespace hearth
