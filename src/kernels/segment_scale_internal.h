// How a segment of activations is scaled to 12 bits (quantize_rows.h), for every variant. Of internal linkage, so that no
// variant exports it.
#pragma once

namespace hearth {
namespace {

// What a segment's values are multiplied by to become integers, and its factor.
struct SegmentScale {
  float
      inverse;  // 0 when the segment has no usable magnitude: then its integers are 0 whatever its values are
  float factor;
};

// From the bits of the largest magnitude, which order as integers, a NaN's above infinity's.
SegmentScale ScaleOfMagnitude(int bits) {
  constexpr int kInfinityBits = 0x7f800000;
  constexpr int kSmallestBits = (127 - 90) << 23;  // 2^-90
  if (bits >= kInfinityBits) {
    return {0.0f, __builtin_nanf("")};
  }
  if (bits < kSmallestBits) {
    return {0.0f, 0.0f};
  }
  float magnitude;
  __builtin_memcpy(&magnitude, &bits, sizeof magnitude);
  return {2032.0f / magnitude, magnitude / 2032.0f};
}

}  // namespace
}  // namespace hearth
