// Blocks of quantized formats taken apart into codes, scales and minima, as the panels keep them.
// The formats' layouts are those of the GGUF specification (ggml-common); DequantizeRow in kernels/dequantize.h
// is the other reader of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contracts/element_type.h"

namespace hearth {

// One group of 32 weights of one row, its codes in the order of kernels/matmul_quantized.h. Which members hold
// something depends on the type.
struct GroupCodes {
  std::uint8_t
      nibbles[16];  // low nibbles: inputs 0 .. 15, high ones: 16 .. 31     Q4_0 Q4_1 Q4_K Q6_K
  std::uint8_t pairs[2][4];      // bits 4 and 5 of the codes                            Q6_K
  std::int8_t bytes[32];         // signed codes                                         Q8_0
  std::uint16_t scale;           // float16 bits; of the super-block in Q4_K and Q6_K    all
  std::uint16_t minimum;         // likewise                                             Q4_1 Q4_K
  std::uint8_t nested_scale[2];  // Q4_K: the first, unsigned; Q6_K: of each half, signed
  std::uint8_t nested_minimum;   // Q4_K
};

// Group `index` of a row whose blocks start at `row`.
// Errors: none; the caller passes a quantized type and an index inside the row.
void ReadGroup(ElementType type, const std::byte* row, std::size_t index, GroupCodes& out);

}  // namespace hearth
