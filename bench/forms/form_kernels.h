// The two forms of the quantized product that hearth does not ship, as kernels that the laboratory times beside the
// third one (kernels/matmul_quantized.h). Both round activations to bfloat16, read the same panels, and multiply in the
// order of a bfloat16 tile product: over a block of inputs, one FMA chain of the even and one of the odd ones, each from
// +0, and their sum.
//   Form G  y = +0; for each group of one scale in ascending order (32 inputs; 16 in Q6_K):
//             y = fma(block of (code - zero) * a, scale, y);  y = fma(sum of a, minimum, y) where there are minima
//   Form R  y = +0; for each block of 32 inputs in ascending order:
//             y = y + (block of w * a),  w = bfloat16(scale * (code - zero) + minimum), two float32 roundings before it
// A scale of Q6_K is d * sc, rounded once to float32; the others are those of the third form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/matmul_quantized.h"
#include "platform/cpu_features.h"

namespace hearth::forms {

// Rows rounded to bfloat16, in both layouts that the kernels read; form_rows.h makes them.
struct FormRows {
  const float* values;  // [rows, stride] of the rounded values
  std::size_t stride;   // at least 32 * groups
  const std::uint16_t*
      tiles;  // [rows / 16, rounded up][groups][16 rows][32], rows beyond the last +0
  const float*
      sums;  // [rows / 16, rounded up][groups][16 rows]: even plus odd chain of a group's values
  std::size_t rows;
  std::size_t groups;  // a multiple of kSegmentGroups
};

// Shapes:  out [rows, out_stride], of which columns 16 * first_panel .. 16 * last_panel - 1 are written. Both panels are
//          even, outputs is a multiple of 32, groups one of 8: the laboratory has no need of the rest.
// Threads: safe side by side on disjoint panels; needs a FloatModeScope. Errors: none.
struct FormArgs {
  QuantizedPanels weights;
  FormRows rows;
  std::size_t first_panel;
  std::size_t last_panel;
  float* out;
  std::size_t out_stride;
};

using FormKernel = void (*)(const FormArgs&);

// Bit for bit the same results, one plain and slow, the others as fast as their instruction set allows.
namespace portable {
void FormG(const FormArgs& args);
void FormR(const FormArgs& args);
}  // namespace portable

namespace avx2 {
void FormG(const FormArgs& args);
void FormR(const FormArgs& args);
}  // namespace avx2

namespace avx512 {
void FormG(const FormArgs& args);
void FormR(const FormArgs& args);
}  // namespace avx512

namespace amx {
void FormG(const FormArgs& args);
void FormR(const FormArgs& args);

// `count` times four independent tile products of zeros; for a probe of the tiles' speed.
void ProbeByteProducts(std::size_t count);      // 16 x 16 x 64 int8 each
void ProbeBfloat16Products(std::size_t count);  // 16 x 16 x 32 each
}  // namespace amx

struct FormPair {
  FormKernel g;
  FormKernel r;
};

// The kernels that `isa` runs; those of avx512 for avx512-vnni, since neither form has a use for byte products. Nothing
// when this build lacks them.
std::optional<FormPair> FormKernelsFor(Isa isa);

}  // namespace hearth::forms
