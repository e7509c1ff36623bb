// Operations on single rows of float32: norms, rotary positions, gated activations, sums.
// Each is defined by one sequence of operations without FMA, which every variant reproduces.
#pragma once

#include <cstddef>

namespace hearth {

// e^x from additions and multiplications in a fixed order. x is clamped to [-87.25, 88.25] after
// -inf and everything below -87.25 has become +0; NaN stays NaN. Error below 2 units in the last place.
//   n = round(x * log2(e)), r = (x - n * ln2_high) - n * ln2_low,
//   the polynomial of degree 7 in r by Horner's rule, times 2^n.
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

// Rotates the pairs (2i, 2i + 1) of one head in place by the angles whose cosine and sine are given:
// (a, b) -> (a * c - b * s, a * s + b * c). Shapes: head [>= 2 * pairs], cosine, sine [pairs].
void RotatePairs(float* head, const float* cosine, const float* sine, std::size_t pairs);

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

namespace avx512 {
void RmsNorm(const RmsNormArgs& args);
void SwiGlu(const SwiGluArgs& args);
}  // namespace avx512

}  // namespace hearth
