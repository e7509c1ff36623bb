#include "kernels/exp_sums.h"

#include <immintrin.h>

#include "kernels/exp64_constants.h"

namespace hearth::avx512 {
namespace {

// Exp on 8 lanes for x <= 0. There 2^k is a normal number, so one exact scaling replaces Exp's two; what
// the lanes below the lowest hold on the way does not matter.
__m512d Exp(__m512d x) {
  const __mmask8 counts = _mm512_cmp_pd_mask(x, _mm512_set1_pd(exp64::kLowest), _CMP_GE_OQ);
  const __m512d rounder = _mm512_set1_pd(exp64::kRounder);
  const __m512d shifted = _mm512_add_pd(_mm512_mul_pd(x, _mm512_set1_pd(exp64::kLog2E)), rounder);
  const __m512d k = _mm512_sub_pd(shifted, rounder);
  const __m512d high = _mm512_sub_pd(x, _mm512_mul_pd(k, _mm512_set1_pd(exp64::kLn2High)));
  const __m512d low = _mm512_mul_pd(k, _mm512_set1_pd(exp64::kLn2Low));
  const __m512d r = _mm512_sub_pd(high, low);
  __m512d q = _mm512_set1_pd(exp64::kSeries[0]);
  for (int i = 1; i < exp64::kTerms; ++i) {
    q = _mm512_add_pd(_mm512_mul_pd(q, r), _mm512_set1_pd(exp64::kSeries[i]));
  }
  const __m512d lost = _mm512_sub_pd(_mm512_sub_pd(high, r), low);
  const __m512d square = _mm512_add_pd(_mm512_mul_pd(_mm512_mul_pd(r, r), q), lost);
  const __m512d value = _mm512_add_pd(_mm512_set1_pd(1.0), _mm512_add_pd(r, square));
  return _mm512_maskz_scalef_pd(counts, value, k);
}

// x[0 .. 8) - shift; the lanes from count on give terms of +0.
__m512d Shifted(const float* x, std::size_t count, __m512d shift) {
  const __mmask8 mask = count >= 8 ? __mmask8{0xff} : static_cast<__mmask8>((1u << count) - 1u);
  const __m256 below = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xff800000u)));
  return _mm512_sub_pd(_mm512_cvtps_pd(_mm256_mask_loadu_ps(below, mask, x)), shift);
}

}  // namespace

void ExpTerms(const ExpSumsArgs& args, double* terms) {
  const __m512d shift = _mm512_set1_pd(args.shift);
  const __m512d divisor = _mm512_set1_pd(args.divisor);
  for (std::size_t i = 0; i < args.count; i += 8) {
    const std::size_t left = args.count - i;
    const __mmask8 mask = left >= 8 ? __mmask8{0xff} : static_cast<__mmask8>((1u << left) - 1u);
    const __m512d x = _mm512_div_pd(Shifted(args.x + i, left, shift), divisor);
    _mm512_mask_storeu_pd(terms + i, mask, Exp(x));
  }
}

double ExpTotal(const ExpSumsArgs& args) {
  const __m512d shift = _mm512_set1_pd(args.shift);
  __m512d first = _mm512_setzero_pd();
  __m512d second = _mm512_setzero_pd();
  std::size_t i = 0;
  for (; i + 16 <= args.count; i += 16) {
    first = _mm512_add_pd(first, Exp(Shifted(args.x + i, 8, shift)));
    second = _mm512_add_pd(second, Exp(Shifted(args.x + i + 8, 8, shift)));
  }
  if (i < args.count) {
    first = _mm512_add_pd(first, Exp(Shifted(args.x + i, args.count - i, shift)));
    if (i + 8 < args.count) {
      second = _mm512_add_pd(second, Exp(Shifted(args.x + i + 8, args.count - i - 8, shift)));
    }
  }
  const __m512d eight = _mm512_add_pd(first, second);
  const __m256d four =
      _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

void ExpBlockSums(const ExpSumsArgs& args, double* sums) {
  const __m512d shift = _mm512_set1_pd(args.shift);
  const __m512d divisor = _mm512_set1_pd(args.divisor);
  alignas(64) double terms[kExpBlocksAtOnce * kExpStride];
  double eight[kExpBlocksAtOnce];
  for (std::size_t first = 0; first < args.count; first += kExpBlocksAtOnce * kExpBlock) {
    const std::size_t left = args.count - first;
    for (std::size_t i = 0; i < kExpBlocksAtOnce * kExpBlock; i += 8) {
      const std::size_t count = i < left ? left - i : 0;
      const __m512d x = Shifted(args.x + first + (count > 0 ? i : 0), count, shift);
      _mm512_store_pd(
          terms + i / kExpBlock * kExpStride + i % kExpBlock, Exp(_mm512_div_pd(x, divisor))
      );
    }
    SumEightBlocks(terms, eight);
    for (std::size_t block = 0; block < kExpBlocksAtOnce && block * kExpBlock < left; ++block) {
      sums[first / kExpBlock + block] = eight[block];
    }
  }
}

}  // namespace hearth::avx512
