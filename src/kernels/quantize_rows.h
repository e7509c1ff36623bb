// Activations as 12-bit integers: what the quantized matmul multiplies.
//
// A row is cut into segments of 256 inputs (the last may be shorter). For a segment with largest magnitude m:
//   m not finite:       factor = NaN, all integers 0 (so the row's outputs become NaN, and only that row's);
//   m < 2^-90:          factor = 0, all integers 0;
//   otherwise:          factor = m / 2032,  a = round(x * (2032 / m)) to nearest even, so |a| <= 2032.
// An integer is kept as two bytes, a = 16 * high + low with high in -127 .. 127 and low in -8 .. 7, so that byte
// dot products reach it; with a 4-bit code c, a * c = high * (16 c) + low * c is two byte products.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

// A group is what one scale of a weight format covers at most, and the unit of all layouts.
static constexpr std::size_t kGroupInputs = 32;
static constexpr std::size_t kSegmentGroups = 8;
// Rows are laid down in tiles of 16, the rows of one tile product.
static constexpr std::size_t kRowTile = 16;

// Segments of `groups` groups.
[[maybe_unused]] static constexpr std::size_t SegmentCount(std::size_t groups) {
  return (groups + kSegmentGroups - 1) / kSegmentGroups;
}

// Where the values of one row stand: a tile of `rows` rows (16, fewer in the last) keeps what belongs to one
// group, or one segment, of all its rows together.
struct RowPlace {
  std::size_t first_row;  // of the tile
  std::size_t rows;       // in the tile
  std::size_t row;        // within the tile

  // Index of item `i` of `per_row` items a row.
  [[gnu::always_inline]] constexpr std::size_t At(std::size_t i, std::size_t per_row) const {
    return first_row * per_row + i * rows + row;
  }
};

// The place of `row` among `rows` rows.
[[maybe_unused]] static constexpr RowPlace PlaceOf(std::size_t row, std::size_t rows) {
  const std::size_t first = row / kRowTile * kRowTile;
  return {first, rows - first < kRowTile ? rows - first : kRowTile, row - first};
}

// Bytes or elements that may be read (not used) past the end of each array, because tiles are read whole.
static constexpr std::size_t kRowSlack = 1024;

// Quantized rows. Arrays of items as RowPlace orders them, each with kRowSlack readable elements behind it:
//   planes       a group: 64 bytes, the 32 high ones, then the 32 low ones;
//   factor       a segment;
//   offset       a group: -8 * sum of a. It turns unsigned codes with zero 8 (or 16 * 8) into signed ones;
//   half_offset  half a group (16 inputs): -2 * sum of a;
//   sum          a group: float(sum of a).
struct QuantizedRows {
  const std::int8_t* planes;
  const float* factor;
  const std::int32_t* offset;
  const std::int32_t* half_offset;
  const float* sum;
  std::size_t rows;
  std::size_t groups;
};

// Quantizes rows first_row .. last_row - 1 of x [out.rows, stride]; a row is 32 * out.groups floats.
// Threads: safe side by side on disjoint rows; needs a FloatModeScope. Errors: none.
struct QuantizeRowsArgs {
  const float* x;
  std::size_t stride;
  std::size_t first_row;
  std::size_t last_row;

  struct Out {
    std::int8_t* planes;
    float* factor;
    std::int32_t* offset;
    std::int32_t* half_offset;
    float* sum;
    std::size_t rows;
    std::size_t groups;
  } out;
};

namespace portable {
void QuantizeRows(const QuantizeRowsArgs& args);
}

namespace avx2 {
void QuantizeRows(const QuantizeRowsArgs& args);
}

namespace avx512 {
void QuantizeRows(const QuantizeRowsArgs& args);
}

}  // namespace hearth
