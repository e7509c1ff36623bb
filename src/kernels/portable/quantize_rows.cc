#include "kernels/quantize_rows.h"

#include <bit>
#include <limits>

#include "kernels/exp_constants.h"

namespace hearth::portable {
namespace {

constexpr std::uint32_t kInfinityBits = 0x7f800000u;
constexpr std::uint32_t kSmallestMagnitudeBits = (127u - 90u) << 23;  // 2^-90

struct Block {
  std::int8_t* high;
  std::int8_t* low;
  float* factor;
  std::int32_t* sum;
  float* scaled_sum;
};

void QuantizeBlock(const float* x, int group, const Block& out) {
  // The bits of magnitudes order as integers, and a NaN's stand above infinity's.
  std::uint32_t most = 0;
  for (int i = 0; i < group; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu;
    most = magnitude > most ? magnitude : most;
  }
  if (most >= kInfinityBits || most < kSmallestMagnitudeBits) {
    const bool finite = most < kInfinityBits;
    for (int i = 0; i < group; ++i) {
      out.high[i] = out.low[i] = 0;
    }
    *out.factor = finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
    *out.sum = 0;
    *out.scaled_sum = *out.factor;
    return;
  }
  const float magnitude = std::bit_cast<float>(most);
  const float inverse = 32512.0f / magnitude;
  std::int32_t sum = 0;
  for (int i = 0; i < group; ++i) {
    const float rounded = (x[i] * inverse + kRoundMagic) - kRoundMagic;
    const auto value = static_cast<std::int32_t>(rounded);
    const auto low = static_cast<std::int8_t>(value & 0xff);
    out.low[i] = low;
    out.high[i] = static_cast<std::int8_t>((value - low) >> 8);
    sum += value;
  }
  *out.factor = magnitude / 32512.0f;
  *out.sum = sum;
  *out.scaled_sum = *out.factor * static_cast<float>(sum);
}

}  // namespace

void QuantizeRows(const QuantizeRowsArgs& args) {
  const auto group = static_cast<std::size_t>(args.group);
  for (std::size_t row = args.first_row; row < args.last_row; ++row) {
    for (std::size_t g = 0; g < args.groups; ++g) {
      const std::size_t at = row * args.groups + g;
      std::int8_t* planes = args.out.planes + at * 2 * group;
      QuantizeBlock(
          args.x + row * args.stride + g * group,
          args.group,
          {planes,
           planes + group,
           args.out.factor + at,
           args.out.sum + at,
           args.out.scaled_sum + at}
      );
    }
  }
}

}  // namespace hearth::portable
