// Blocks of quantized formats taken apart into codes, scales and minima, as the panels keep them.
// The formats' layouts are those of the GGUF specification (ggml-common); DequantizeRow in kernels/dequantize.h
// is the other reader of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contracts/element_type.h"

namespace hearth {

// One group of 16 or 32 weights of one row: weight = scale * (code - zero) + minimum, with zero the constant of
// the type's panel format. half_* are the stored float16 bits where the format has them.
struct GroupCodes {
  std::uint8_t codes[32];
  float scale;
  float minimum;
  std::uint16_t half_scale;
  std::uint16_t half_minimum;
};

// Group `index` of a row whose blocks start at `row`. Products of super-scales are rounded once to float32.
// Errors: none; the caller passes a quantized type and an index inside the row.
void ReadGroup(ElementType type, const std::byte* row, std::size_t index, GroupCodes& out);

}  // namespace hearth
