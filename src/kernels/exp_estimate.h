// A quick sum of exponentials, for decisions that seldom need the exact one (kernels/exp_sums.h).
#pragma once

#include <cstddef>

namespace hearth {

// The estimate differs from ExpTotal by less than this share of it.
inline constexpr double kExpEstimateError = 0x1p-15;

// The sum of e^(x[i] - shift) in float32: with u = (x[i] - shift) * log2(e), n = round(u) and r = u - n, a term is
// Taylor's polynomial of degree 5 of 2^r by Horner's rule, times 2^n; +0 below u = -100. A chunk of 1024 terms is added in
// 16 strided lanes, the lanes as ExpTotal's are, and the chunks one after the other in double. No FMA.
// Shapes:  x [count]; no value above shift, shift among them, no NaN; -inf gives a term of +0.
// Threads: pure. Errors: none. Denormals of x count as the float mode says.
struct ExpEstimateArgs {
  const float* x;
  std::size_t count;
  float shift;
};

inline constexpr std::size_t kExpEstimateChunk = 1024;

namespace portable {
double ExpEstimate(const ExpEstimateArgs& args);
}

namespace avx2 {
double ExpEstimate(const ExpEstimateArgs& args);
}

namespace avx512 {
double ExpEstimate(const ExpEstimateArgs& args);
}

}  // namespace hearth
