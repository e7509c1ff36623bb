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

// Asks for what StoreRows will write. Outputs of many rows have left the caches since they were last used, and waiting for
// them took a fifth of a product of 512 rows.
inline void PrefetchRows(
    const MatmulQuantizedArgs& args, std::size_t first_row, std::size_t rows, std::size_t panel
) {
  for (std::size_t row = first_row; row < first_row + rows; ++row) {
    __builtin_prefetch(args.out + row * args.out_stride + panel * kPanelOutputs, 1);
  }
}

}  // namespace
}  // namespace hearth::amx
