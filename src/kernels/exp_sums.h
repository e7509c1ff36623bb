// Exponentials of a row of float32, in double, and their sums: softmax over a vocabulary. Each term has the bits
// of Exp (kernels/scalar_math.h), and the order of the additions is fixed by the positions alone.
#pragma once

#include <cstddef>

namespace hearth {

// Terms of one of ExpBlockSums' sums.
inline constexpr std::size_t kExpBlock = 256;

// Shapes:  x [count]; no value above shift, no NaN; -inf gives a term of +0. divisor > 0.
// Threads: pure. Errors: none. Denormals of x count as the float mode says; no term is denormal.
struct ExpSumsArgs {
  const float* x;
  std::size_t count;
  double shift;
  double divisor;
};

// ExpTerms writes Exp((x[i] - shift) / divisor). Shapes: terms [count].
//
// ExpTotal is the sum of Exp(x[i] - shift), without the divisor: 16 strided lanes (lane j takes x[j], x[j + 16], ...), then lane i
// takes lane i + 8, then i + 4, i + 2, i + 1.
//
// ExpBlockSums writes the sums of Exp((x[i] - shift) / divisor) over [256 b, 256 b + 256), each added one after the
// other from +0. Shapes: sums [ceil(count / 256)].
namespace portable {
void ExpTerms(const ExpSumsArgs& args, double* terms);
double ExpTotal(const ExpSumsArgs& args);
void ExpBlockSums(const ExpSumsArgs& args, double* sums);
}  // namespace portable

namespace avx2 {
void ExpTerms(const ExpSumsArgs& args, double* terms);
double ExpTotal(const ExpSumsArgs& args);
void ExpBlockSums(const ExpSumsArgs& args, double* sums);
}  // namespace avx2

namespace avx512 {
void ExpTerms(const ExpSumsArgs& args, double* terms);
double ExpTotal(const ExpSumsArgs& args);
void ExpBlockSums(const ExpSumsArgs& args, double* sums);
}  // namespace avx512

// Terms of eight blocks, as the variants hand them to SumEightBlocks: one block's begins kExpStride after the one
// before, so that blocks do not share a cache set.
inline constexpr std::size_t kExpBlocksAtOnce = 8;
inline constexpr std::size_t kExpStride = kExpBlock + 8;

// sums[b] = terms[b * kExpStride] + ... in order. An addition waits for the one before, so eight blocks are summed
// side by side.
void SumEightBlocks(const double* terms, double* sums);

}  // namespace hearth
