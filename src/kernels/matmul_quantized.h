// Products of quantized weights with 12-bit activations. Knows panels and rows, not files or models.
//
// The arithmetic, which every variant reproduces bit by bit. With a the activations' integers (quantize_rows.h), for
// one output:
//   y = +0
//   for each segment of 256 inputs in ascending order:
//     kinds with a scale a group (Q4_0, Q4_1, Q8_0, Q4_K):
//       p = +0; for each group of 32 in the segment, in ascending order:
//         S = sum of (code - zero) * a                exact, in integers, so its order is free
//         p = fma(float(S), scale, p)
//         p = fma(float(sum of a), minimum, p)        only with minima
//     kCode6Nested (Q6_K):
//       p = float(sum over groups of 16 of scale * S) * d      the sum is exact and fits 32 bits
//     y = fma(p, factor, y)
//   and y is stored, or added to what is there.
// Scales and minima are float16 read as float32; those of kCode4Nested are float(d) * float(scale) and
// -(float(dmin) * float(minimum)), each product rounded once to float32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quantize_rows.h"

namespace hearth {

// Outputs are packed in panels of this many, so that one or two vectors hold one value of each.
static constexpr std::size_t kPanelOutputs = 16;

// How a packed matrix keeps its weights, per panel of 16 outputs. A segment is its header, then its groups.
//                 header                    a group of 32 inputs
enum class PanelKind : std::uint8_t {
  kCode4,  // none                    nibbles [256], scale f16 [16]; code - 8           (Q4_0)
  kCode4Minimum,  // none                    nibbles [256], scale f16 [16], minimum f16 [16]   (Q4_1)
  kCode8,        // none                    bytes [512], scale f16 [16]; signed codes         (Q8_0)
  kCode4Nested,  // d, dmin f16 [16]        scale u8 [16], minimum u8 [16], nibbles [256]     (Q4_K)
  kCode6Nested,  // d f16 [16]              scale s8 [2][16], nibbles [256], pairs [128]; code - 32 (Q6_K)
};
// nibbles  [4 quads, 16 outputs, 4 inputs]: the low nibbles are inputs 0 .. 15, the high ones 16 .. 31;
// bytes    [8 quads, 16 outputs, 4 inputs];
// pairs    [2, 16 outputs, 4 inputs]: bits 4 and 5 of the code; byte (i, output, j) holds those of inputs
//          16 i + j, 16 i + 4 + j, 16 i + 8 + j, 16 i + 12 + j from its lowest bits up.
// Outputs beyond the last have zeros everywhere.

// Bytes of one group, of a segment's header, and of a whole panel.
[[maybe_unused]] static constexpr std::size_t GroupBytes(PanelKind kind) {
  switch (kind) {
    case PanelKind::kCode4:
    case PanelKind::kCode4Nested:
      return 256 + 32;
    case PanelKind::kCode4Minimum:
      return 256 + 64;
    case PanelKind::kCode8:
      return 512 + 32;
    case PanelKind::kCode6Nested:
      return 32 + 256 + 128;
  }
  return 0;
}

[[maybe_unused]] static constexpr std::size_t HeaderBytes(PanelKind kind) {
  return kind == PanelKind::kCode4Nested ? 64 : kind == PanelKind::kCode6Nested ? 32 : 0;
}

[[maybe_unused]] static constexpr std::size_t PanelBytes(PanelKind kind, std::size_t groups) {
  return SegmentCount(groups) * HeaderBytes(kind) + groups * GroupBytes(kind);
}

struct QuantizedPanels {
  const std::byte* data;  // 64-byte aligned; panels [outputs / 16, rounded up] of PanelBytes
  PanelKind kind;
  std::size_t outputs;
  std::size_t groups;  // inputs / 32
};

// Shapes:    out [rows.rows, out_stride], of which rows first_row .. last_row - 1 and columns
//            16 * first_panel .. min(outputs, 16 * last_panel) - 1 are written; first_row is a multiple of 16.
// Ownership: borrows everything until return; out overlaps nothing.
// Threads:   safe side by side on disjoint panels or rows; needs a FloatModeScope.
// Errors:    none; the caller has checked shapes.
// Cost:      no allocation. Without tiles the panels are read once for every four rows; with them, once for as many
//            rows as fit the second-level cache.
struct MatmulQuantizedArgs {
  QuantizedPanels weights;
  QuantizedRows rows;
  std::size_t first_row;
  std::size_t last_row;
  std::size_t first_panel;
  std::size_t last_panel;
  bool add;  // out += product instead of out = product
  float* out;
  std::size_t out_stride;  // floats between rows
};

namespace portable {
void MatmulQuantized(const MatmulQuantizedArgs& args);
}

namespace avx2 {
void MatmulQuantized(const MatmulQuantizedArgs& args);
}

namespace avx512 {
void MatmulQuantized(const MatmulQuantizedArgs& args);
}

namespace avx512vnni {
void MatmulQuantized(const MatmulQuantizedArgs& args);
}

namespace amx {
void MatmulQuantized(const MatmulQuantizedArgs& args);
}

}  // namespace hearth
