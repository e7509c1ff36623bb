#include "kernels/matmul_quantized.h"

#include <algorithm>
#include <cmath>

#include "kernels/half.h"
#include "kernels/portable/load.h"

namespace hearth::portable {
namespace {

// The codes of one group of one panel: [group, 16 outputs].
void UnpackCodes(const std::byte* packed, const PanelFormat& format, std::int32_t* codes) {
  const std::size_t group = static_cast<std::size_t>(format.group);
  for (std::size_t k = 0; k < group; ++k) {
    for (std::size_t output = 0; output < kPanelOutputs; ++output) {
      const std::size_t half = group / 2;
      const bool high = format.bits == 4 && k >= half;
      const std::size_t column = high ? k - half : k;
      const auto byte =
          static_cast<std::int32_t>(packed[column / 4 * 64 + output * 4 + column % 4]);
      codes[k * kPanelOutputs + output] = format.bits == 8 ? byte : (high ? byte >> 4 : byte & 0xf);
    }
  }
}

float LoadScale(const std::byte* scales, bool half, std::size_t output) {
  return half ? HalfToFloat(Load<std::uint16_t>(scales + 2 * output))
              : Load<float>(scales + 4 * output);
}

// One group of one panel against one row.
void Accumulate(
    const MatmulQuantizedArgs& args,
    const std::byte* scales,
    const std::int32_t* codes,
    std::size_t at,
    float* y
) {
  const PanelFormat& format = args.weights.format;
  const auto group = static_cast<std::size_t>(format.group);
  const std::int8_t* high = args.rows.planes + at * 2 * group;
  const std::int8_t* low = high + group;
  std::int32_t sums[kPanelOutputs];
  std::fill_n(sums, kPanelOutputs, -format.zero * args.rows.sum[at]);
  for (std::size_t k = 0; k < group; ++k) {
    const std::int32_t a = high[k] * 256 + low[k];
    for (std::size_t output = 0; output < kPanelOutputs; ++output) {
      sums[output] += codes[k * kPanelOutputs + output] * a;
    }
  }
  const std::byte* minima = scales + kPanelOutputs * (format.half_scales ? 2u : 4u);
  for (std::size_t output = 0; output < kPanelOutputs; ++output) {
    const float product = static_cast<float>(sums[output]) * args.rows.factor[at];
    y[output] = std::fma(LoadScale(scales, format.half_scales, output), product, y[output]);
    if (format.minima) {
      const float minimum = LoadScale(minima, format.half_scales, output);
      y[output] = std::fma(minimum, args.rows.scaled_sum[at], y[output]);
    }
  }
}

}  // namespace

void MatmulQuantized(const MatmulQuantizedArgs& args) {
  const PanelFormat& format = args.weights.format;
  const std::size_t group_bytes = GroupBytes(format);
  const std::size_t code_bytes =
      kPanelOutputs * static_cast<std::size_t>(format.group * format.bits) / 8;
  const std::size_t groups = args.weights.groups;
  constexpr std::size_t kTileRows = 4;
  std::int32_t codes[32 * kPanelOutputs];
  for (std::size_t panel = args.first_panel; panel < args.last_panel; ++panel) {
    const std::size_t outputs =
        std::min(kPanelOutputs, args.weights.outputs - panel * kPanelOutputs);
    for (std::size_t first = 0; first < args.rows.rows; first += kTileRows) {
      const std::size_t rows = std::min(kTileRows, args.rows.rows - first);
      float y[kTileRows][kPanelOutputs] = {};
      for (std::size_t g = 0; g < groups; ++g) {
        const std::byte* packed = args.weights.data + (panel * groups + g) * group_bytes;
        UnpackCodes(packed, format, codes);
        for (std::size_t row = 0; row < rows; ++row) {
          Accumulate(args, packed + code_bytes, codes, (first + row) * groups + g, y[row]);
        }
      }
      for (std::size_t row = 0; row < rows; ++row) {
        float* out = args.out + (first + row) * args.out_stride + panel * kPanelOutputs;
        for (std::size_t output = 0; output < outputs; ++output) {
          out[output] = args.add ? out[output] + y[row][output] : y[row][output];
        }
      }
    }
  }
}

}  // namespace hearth::portable
