// Products of quantized weights with 16-bit activations. Knows panels and rows, not files or models.
//
// The arithmetic, which every variant reproduces bit by bit:
//   A weight of group g is scale[g] * code + minimum[g], or scale[g] * (code - zero) without minima; codes are
//   unsigned, of 4 or 8 bits. An activation of block g (as long as the group) is factor[g] * a with a an
//   integer of 16 bits (quantize_rows.h). For one output:
//     y = +0
//     for each group in ascending order:
//       S = sum of (code - zero) * a          exact, in integers, so its order is free
//       y = fma(scale[g], float(S) * factor[g], y)
//       y = fma(minimum[g], factor[g] * float(sum of a), y)      only with minima
//   and y is stored, or added to what is there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quantize_rows.h"

namespace hearth {

// Outputs are packed in panels of this many, so that one vector holds one value of each.
inline constexpr std::size_t kPanelOutputs = 16;

// How the groups of one packed matrix are stored. The formats that exist are listed in matmul_quantized.cc.
struct PanelFormat {
  int bits;           // 4 or 8: width of a code
  int group;          // 16 or 32: weights that share a scale
  bool half_scales;   // scales (and minima) are float16, else float32
  bool minima;        // each group has a minimum; then `zero` is 0
  std::int32_t zero;  // subtracted from every code

  friend bool operator==(const PanelFormat&, const PanelFormat&) = default;
};

// Bytes of one group of one panel: codes, scales, minima.
constexpr std::size_t GroupBytes(const PanelFormat& format) {
  const std::size_t codes = kPanelOutputs * static_cast<std::size_t>(format.group) *
                            static_cast<std::size_t>(format.bits) / 8;
  const std::size_t scales = kPanelOutputs * (format.half_scales ? 2u : 4u);
  return codes + scales * (format.minima ? 2u : 1u);
}

// A packed matrix. Layout: panels [outputs / 16, rounded up] of groups [inputs / group] of
//   codes   8 bits: [group / 4, 16 outputs, 4 inputs] bytes;
//           4 bits: [group / 8, 16 outputs, 4 inputs] bytes, the low nibble for the first half of the group's
//           inputs and the high nibble for the second;
//   scales  [16 outputs]; minima [16 outputs] if there are any.
// Outputs beyond the last have code, scale and minimum 0.
struct QuantizedPanels {
  const std::byte* data;  // 64-byte aligned
  PanelFormat format;
  std::size_t outputs;
  std::size_t groups;  // inputs / group
};

// Shapes:    rows [rows, groups]; out [rows, out_stride], of which columns 16 * first_panel ..
//            min(outputs, 16 * last_panel) - 1 are written.
// Ownership: borrows everything until return; out overlaps nothing.
// Threads:   safe side by side on disjoint panels or rows; needs a FloatModeScope.
// Errors:    none; the caller has checked shapes and that the format is one of the known ones.
// Cost:      reads the panels once for every four rows; no allocation.
struct MatmulQuantizedArgs {
  QuantizedPanels weights;
  QuantizedRows rows;
  std::size_t first_panel;
  std::size_t last_panel;  // one past the end
  bool add;                // out += product instead of out = product
  float* out;
  std::size_t out_stride;  // floats between rows
};

namespace portable {
void MatmulQuantized(const MatmulQuantizedArgs& args);
}

namespace avx512vnni {
void MatmulQuantized(const MatmulQuantizedArgs& args);
}

}  // namespace hearth
