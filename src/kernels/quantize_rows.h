// Activations as 16-bit integers with one factor a block: what the quantized matmul multiplies.
//
// For a block of `group` values with largest magnitude m:
//   m not finite:       factor = NaN, all integers 0 (so the row's outputs become NaN, and only that row's);
//   m < 2^-90:          factor = 0, all integers 0;
//   otherwise:          factor = m / 32512,  a = round(x * (32512 / m)) to nearest even.
// An integer is kept as two planes, a = 256 * high + low with both in -128 .. 127, so that byte dot
// products reach it; 32512 = 127 * 256 leaves room for the rounding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

// Quantized rows. Shapes: planes [rows, groups, 2, group] bytes, the high plane before the low one;
// factor, sum, scaled_sum [rows, groups]: sum is the integer sum of a block and
// scaled_sum = factor * float(sum).
struct QuantizedRows {
  const std::int8_t* planes;
  const float* factor;
  const std::int32_t* sum;
  const float* scaled_sum;
  std::size_t rows;
};

// Where QuantizeRows writes; the same shapes.
struct QuantizedRowsOut {
  std::int8_t* planes;
  float* factor;
  std::int32_t* sum;
  float* scaled_sum;
};

// Quantizes rows first_row .. last_row - 1 of x [rows, stride]; a row is groups * group floats.
// Threads: safe side by side on disjoint rows; needs a FloatModeScope. Errors: none.
struct QuantizeRowsArgs {
  const float* x;
  std::size_t stride;
  std::size_t first_row;
  std::size_t last_row;
  std::size_t groups;
  int group;  // 16 or 32
  QuantizedRowsOut out;
};

namespace portable {
void QuantizeRows(const QuantizeRowsArgs& args);
}

namespace avx512 {
void QuantizeRows(const QuantizeRowsArgs& args);
}

}  // namespace hearth
