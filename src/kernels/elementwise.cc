#include "kernels/elementwise.h"

#include <bit>
#include <cstdint>

#include "kernels/exp_constants.h"

namespace hearth {

float VectorExp(float x) {
  if (x < kExpLow) {
    return 0.0f;
  }
  if (!(x <= kExpHigh)) {
    if (x != x) {
      return x;
    }
    x = kExpHigh;
  }
  const float n = (x * kLog2E + kRoundMagic) - kRoundMagic;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float poly = kExpPoly[7];
  for (int i = 6; i >= 0; --i) {
    poly = poly * r + kExpPoly[i];
  }
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23;
  return poly * std::bit_cast<float>(exponent);
}

float FixedTreeSum(const float* lanes) {
  float sums[8];
  for (int i = 0; i < 8; ++i) {
    sums[i] = lanes[i] + lanes[i + 8];
  }
  for (int width = 4; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) {
      sums[i] = sums[i] + sums[i + width];
    }
  }
  return sums[0];
}

void RotatePairs(float* head, const float* cosine, const float* sine, std::size_t pairs) {
  for (std::size_t i = 0; i < pairs; ++i) {
    const float a = head[2 * i];
    const float b = head[2 * i + 1];
    head[2 * i] = a * cosine[i] - b * sine[i];
    head[2 * i + 1] = a * sine[i] + b * cosine[i];
  }
}

}  // namespace hearth
