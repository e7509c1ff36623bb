// Stored values as float32: the plain reading of every element type, which the packed forms are checked against.
// Knows blocks, not tensors. Layout of a block, fields in this order, little-endian; v is the i-th value:
//   Q4_0  [32 values, 18 bytes]    half d, 16 bytes q:  v = d * (nibble i - 8); the low nibbles of q are
//                                  values 0..15, the high ones 16..31
//   Q4_1  [32 values, 20 bytes]    half d, half m, 16 bytes q:  v = d * nibble i + m; nibbles as in Q4_0
//   Q8_0  [32 values, 34 bytes]    half d, 32 int8 q:  v = d * q[i]
//   Q4_K  [256 values, 144 bytes]  half d, half m, 12 bytes of scales, 128 bytes q: eight groups of 32 values,
//                                  v = (d * scale) * nibble - (m * minimum), scale and minimum of 6 bits. The
//                                  first 4 bytes hold scales 0..3, the next 4 minima 0..3, in their low 6 bits;
//                                  byte 8 + j holds the low 4 bits of scale 4 + j (low nibble) and of minimum
//                                  4 + j (high), whose upper 2 bits top the bytes of scale and minimum j.
//                                  Each 32 bytes of q are two groups: low nibbles, then high ones
//   Q6_K  [256 values, 210 bytes]  128 bytes low, 64 bytes high, 16 int8 scales, half d: sixteen groups of 16
//                                  values, v = (d * scale) * (code - 32). A half of 128 values takes 64 bytes of
//                                  low and 32 of high: value 32 * k + l has its low 4 bits in byte
//                                  l + 32 * (k % 2), the low nibble for k < 2, and its high 2 bits in bits
//                                  2k, 2k+1 of byte l
// Source: ggml's ggml-common.h and the reference dequantizers of its ggml-quants.c.
#pragma once

#include <cstddef>

#include "contracts/element_type.h"

namespace hearth {

// Writes out[0 .. values - 1].
// Shapes:    `values` is a multiple of the type's block; blocks holds values / block of them, at any address.
// Ownership: borrows both until return; they do not overlap.
// Threads:   safe side by side.
// Errors:    none; values past the last whole block are left alone.
// Every product and sum above is one rounded float32 operation. The bits are those of ggml in the default float
// mode; under FloatModeScope denormal products become zero.
void DequantizeRow(ElementType type, const std::byte* blocks, std::size_t values, float* out);

}  // namespace hearth
