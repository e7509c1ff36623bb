#include "kernels/quantize_rows.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/exp_constants.h"

namespace hearth::portable {
namespace {

constexpr std::uint32_t kInfinityBits = 0x7f800000u;
constexpr std::uint32_t kSmallestMagnitudeBits = (127u - 90u) << 23;  // 2^-90

// What a segment's values are multiplied by to become integers, and its factor.
struct Scale {
  float inverse;  // 0 when the segment has no usable magnitude
  float factor;
};

Scale ScaleOf(const float* x, std::size_t count) {
  // The bits of magnitudes order as integers, and a NaN's stand above infinity's.
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    most = std::max(most, std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu);
  }
  if (most >= kInfinityBits) {
    return {0.0f, std::numeric_limits<float>::quiet_NaN()};
  }
  if (most < kSmallestMagnitudeBits) {
    return {0.0f, 0.0f};
  }
  const float magnitude = std::bit_cast<float>(most);
  return {2032.0f / magnitude, magnitude / 2032.0f};
}

// Writes the bytes of 16 inputs and returns their sum.
std::int32_t QuantizeHalf(const float* x, float inverse, std::int8_t* high, std::int8_t* low) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < kGroupInputs / 2; ++i) {
    // A segment without a usable magnitude becomes all zeros, whatever its values are.
    const float rounded = inverse == 0.0f ? 0.0f : (x[i] * inverse + kRoundMagic) - kRoundMagic;
    const auto a = static_cast<std::int32_t>(rounded);
    const std::int32_t upper = (a + 8) >> 4;
    high[i] = static_cast<std::int8_t>(upper);
    low[i] = static_cast<std::int8_t>(a - upper * 16);
    sum += a;
  }
  return sum;
}

}  // namespace

void QuantizeRows(const QuantizeRowsArgs& args) {
  const auto& out = args.out;
  const std::size_t segments = SegmentCount(out.groups);
  for (std::size_t row = args.first_row; row < args.last_row; ++row) {
    const RowPlace place = PlaceOf(row, out.rows);
    for (std::size_t s = 0; s < segments; ++s) {
      const std::size_t first = s * kSegmentGroups;
      const std::size_t last = std::min(out.groups, first + kSegmentGroups);
      const float* x = args.x + row * args.stride;
      const Scale scale = ScaleOf(x + first * kGroupInputs, (last - first) * kGroupInputs);
      out.factor[place.At(s, segments)] = scale.factor;
      for (std::size_t g = first; g < last; ++g) {
        const std::size_t at = place.At(g, out.groups);
        std::int8_t* high = out.planes + at * 2 * kGroupInputs;
        std::int8_t* low = high + kGroupInputs;
        std::int32_t sum = 0;
        for (std::size_t half = 0; half < 2; ++half) {
          const std::size_t i = half * kGroupInputs / 2;
          const std::int32_t part =
              QuantizeHalf(x + g * kGroupInputs + i, scale.inverse, high + i, low + i);
          out.half_offset[place.At(2 * g + half, 2 * out.groups)] = -2 * part;
          sum += part;
        }
        out.offset[at] = -8 * sum;
        out.sum[at] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace hearth::portable
