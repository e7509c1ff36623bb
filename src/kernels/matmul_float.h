// Products of float weights with float32 activations: the float formats, and every format under
// --numerics f32.
//
// The arithmetic, which every variant reproduces bit by bit. For one output:
//   y = +0
//   for each block of 32 inputs in ascending order (the last is padded with +0):
//     even = odd = +0
//     for i = 0 .. 15: even = fma(w[2i], x[2i], even), odd = fma(w[2i + 1], x[2i + 1], odd)
//     y = y + (even + odd)
//   and y is stored, or added to what is there. It is the order of a bfloat16 tile product.
#pragma once

#include <cstddef>

#include "kernels/matmul_quantized.h"

namespace hearth {

inline constexpr std::size_t kFloatBlock = 32;

enum class FloatStorage { kF32, kF16, kBF16 };

constexpr std::size_t FloatBytes(FloatStorage storage) {
  return storage == FloatStorage::kF32 ? 4 : 2;
}

// A packed matrix. Layout: panels [outputs / 16, rounded up] of [inputs rounded up to 32] of
// [16 outputs] values; what pads is +0. F16 and BF16 are widened exactly.
struct FloatPanels {
  const std::byte* data;  // 64-byte aligned
  FloatStorage storage;
  std::size_t outputs;
  std::size_t blocks;  // inputs / 32, rounded up
};

// Shapes:    x [rows, x_stride], a row readable up to blocks * 32 floats, the padding +0;
//            out as in MatmulQuantizedArgs.
// Threads:   safe side by side on disjoint panels or rows; needs a FloatModeScope. Errors: none.
struct MatmulFloatArgs {
  FloatPanels weights;
  const float* x;
  std::size_t x_stride;
  std::size_t rows;
  std::size_t first_panel;
  std::size_t last_panel;  // one past the end
  bool add;
  float* out;
  std::size_t out_stride;
};

namespace portable {
void MatmulFloat(const MatmulFloatArgs& args);
}

namespace avx2 {
void MatmulFloat(const MatmulFloatArgs& args);
}

namespace avx512 {
void MatmulFloat(const MatmulFloatArgs& args);
}

}  // namespace hearth
