#include "kernels/quantize_rows.h"

#include <algorithm>
#include <bit>

#include "kernels/exp_constants.h"
#include "kernels/segment_scale_internal.h"

namespace hearth::portable {
namespace {

// The bits of the largest magnitude.
int LargestMagnitudeBits(const float* x, std::size_t count) {
  int most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    most = std::max(most, std::bit_cast<int>(x[i]) & 0x7fffffff);
  }
  return most;
}

// Writes the bytes of 16 inputs and returns their sum.
std::int32_t QuantizeHalf(const float* x, float inverse, std::int8_t* high, std::int8_t* low) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < kGroupInputs / 2; ++i) {
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
      const SegmentScale scale = ScaleOfMagnitude(
          LargestMagnitudeBits(x + first * kGroupInputs, (last - first) * kGroupInputs)
      );
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
