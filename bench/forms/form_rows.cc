#include "forms/form_rows.h"

#include "kernels/half.h"

namespace hearth::forms {

FormRowsBuffer::FormRowsBuffer(std::span<const float> x, std::size_t rows, std::size_t groups)
    : rows_(rows),
      groups_(groups),
      // A stride that is a power of two would lay all rows onto a few cache sets.
      stride_(32 * groups + 16),
      values_(rows * stride_),
      tiles_((rows + kRowTile - 1) / kRowTile * kRowTile * 32 * groups),
      sums_((rows + kRowTile - 1) / kRowTile * kRowTile * groups) {
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t tile = row / kRowTile * groups + g;
      std::uint16_t* of_tile = tiles_.data() + (tile * kRowTile + row % kRowTile) * 32;
      float* values = values_.data() + row * stride_ + g * 32;
      float chains[2] = {};
      for (std::size_t k = 0; k < 32; ++k) {
        of_tile[k] = FloatToBf16(x[row * 32 * groups + g * 32 + k]);
        values[k] = Bf16ToFloat(of_tile[k]);
        chains[k % 2] += values[k];
      }
      sums_[tile * kRowTile + row % kRowTile] = chains[0] + chains[1];
    }
  }
}

}  // namespace hearth::forms
