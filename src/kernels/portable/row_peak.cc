#include "kernels/row_peak.h"

#include <algorithm>
#include <limits>

namespace hearth::portable {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::size_t kBlock = 1024;  // the index is looked for in one of these
constexpr std::size_t kLanes = 16;

// The block's largest value, in lanes so that the compiler can use vectors; clears `ordered` at a NaN or +inf.
float BlockPeak(const float* x, std::size_t count, bool& ordered) {
  float lanes[kLanes];
  std::fill(lanes, lanes + kLanes, -kInfinity);
  unsigned wrong[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = x[i + lane];
      lanes[lane] = value > lanes[lane] ? value : lanes[lane];
      wrong[lane] |= value < kInfinity ? 0u : 1u;
    }
  }
  for (; i < count; ++i) {
    lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
    wrong[0] |= x[i] < kInfinity ? 0u : 1u;
  }
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    lanes[0] = lanes[lane] > lanes[0] ? lanes[lane] : lanes[0];
    wrong[0] |= wrong[lane];
  }
  ordered = ordered && wrong[0] == 0;
  return lanes[0];
}

}  // namespace

RowPeak FindRowPeak(const float* x, std::size_t count) {
  RowPeak peak{-kInfinity, 0, true};
  std::size_t block = 0;
  for (std::size_t first = 0; first < count; first += kBlock) {
    const float value = BlockPeak(x + first, std::min(kBlock, count - first), peak.ordered);
    if (value > peak.value) {
      peak.value = value;
      block = first;
    }
  }
  if (count > 0 && peak.ordered) {
    peak.index = block;
    while (x[peak.index] != peak.value) {
      ++peak.index;
    }
    peak.value = x[peak.index];
  }
  return peak;
}

}  // namespace hearth::portable
