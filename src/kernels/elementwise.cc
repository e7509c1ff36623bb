#include "kernels/elementwise.h"

#include <bit>
#include <cmath>
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
  const float n = std::fma(x, kLog2E, kRoundMagic) - kRoundMagic;
  const float r = std::fma(-n, kLn2Low, std::fma(-n, kLn2High, x));
  float poly = kExpPoly[7];
  for (int i = 6; i >= 0; --i) {
    poly = std::fma(poly, r, kExpPoly[i]);
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

}  // namespace hearth
