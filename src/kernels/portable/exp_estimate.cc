#include "kernels/exp_estimate.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/exp2_constants.h"

namespace hearth::portable {
namespace {

constexpr std::size_t kLanes = 16;

inline float Term(float x, float shift) {
  const float u = (x - shift) * exp2f::kLog2E;
  const float shifted = u + exp2f::kRounder;
  const float r = u - (shifted - exp2f::kRounder);
  float p = exp2f::kSeries[0];
  for (int i = 1; i < exp2f::kTerms; ++i) {
    p = p * r + exp2f::kSeries[i];
  }
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) << 23;
  const float scaled = std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + exponent);
  return u >= exp2f::kLowest ? scaled : 0.0f;
}

}  // namespace

double ExpEstimate(const ExpEstimateArgs& args) {
  double total = 0;
  for (std::size_t first = 0; first < args.count; first += kExpEstimateChunk) {
    const std::size_t end = std::min(args.count, first + kExpEstimateChunk);
    float lanes[kLanes] = {};
    std::size_t i = first;
    for (; i + kLanes <= end; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += Term(args.x[i + lane], args.shift);
      }
    }
    for (; i < end; ++i) {
      lanes[i % kLanes] += Term(args.x[i], args.shift);
    }
    for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::size_t lane = 0; lane < width; ++lane) {
        lanes[lane] += lanes[lane + width];
      }
    }
    total += static_cast<double>(lanes[0]);
  }
  return total;
}

}  // namespace hearth::portable
