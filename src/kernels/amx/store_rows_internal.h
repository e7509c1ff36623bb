// Where a tile of finished outputs goes.
#pragma once

#include <cstddef>

#include "kernels/avx512/panel_simd_internal.h"
#include "kernels/matmul_quantized.h"

namespace hearth::amx {
namespace {

// Stores, or adds, `rows` rows of one panel from first_row on; columns past the last output are left out.
inline void StoreRows(
    const MatmulQuantizedArgs& args,
    std::size_t first_row,
    std::size_t rows,
    std::size_t panel,
    const float (*y)[kPanelOutputs]
) {
  const std::size_t column = panel * kPanelOutputs;
  for (std::size_t row = 0; row < rows; ++row) {
    Avx512Lanes::Store(
        args.out + (first_row + row) * args.out_stride + column,
        _mm512_load_ps(y[row]),
        args.weights.outputs - column,
        args.add
    );
  }
}

}  // namespace
}  // namespace hearth::amx
