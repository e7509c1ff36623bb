// Operations on single rows of float32: norms, rotary positions, gated activations, sums.
// Each is defined by one sequence of operations, without FMA unless one is named, which every variant reproduces.
#pragma once

#include <cstddef>

namespace hearth {

// e^x from operations in a fixed order. What is below -87.25 becomes +0, x is at most 88.25, NaN stays NaN.
// Error below 2 units in the last place.
//   n = fma(x, log2(e), magic) - magic, an integer; r = fma(-n, ln2_low, fma(-n, ln2_high, x));
//   the polynomial of degree 7 in r by Horner's rule, an FMA a step, times 2^n.
float VectorExp(float x);

// out = (x * (1 / sqrt(mean(x^2) + epsilon) + mean(x^2) * 0)) * weight; the last sum makes the row NaN when its squares
// overflow, where it would silently become zero. The squares are summed in 16 strided lanes (lane j
// takes x[j], x[j + 16], ...), the lanes by FixedTreeSum.
// Shapes: x, weight, out [width]; out may be x.
struct RmsNormArgs {
  const float* x;
  const float* weight;
  std::size_t width;
  float epsilon;
  float* out;
};

// Sums 16 lanes: lane i takes lane i + 8, then i + 4, i + 2, i + 1.
float FixedTreeSum(const float* lanes);

// gate[i] = (gate[i] / (1 + e^-gate[i])) * up[i]. Shapes: [width].
struct SwiGluArgs {
  float* gate;
  const float* up;
  std::size_t width;
};

namespace portable {
void RmsNorm(const RmsNormArgs& args);
void SwiGlu(const SwiGluArgs& args);
}  // namespace portable

namespace avx2 {
void RmsNorm(const RmsNormArgs& args);
void SwiGlu(const SwiGluArgs& args);
}  // namespace avx2

namespace avx512 {
void RmsNorm(const RmsNormArgs& args);
void SwiGlu(const SwiGluArgs& args);
}  // namespace avx512

}  // namespace hearth
