#include "kernels/exp_sums.h"

#include <immintrin.h>

#include "kernels/exp64_constants.h"

namespace hearth::avx2 {
namespace {

// Exp on 4 lanes for x <= 0. There 2^k is a normal number, so one exact scaling replaces Exp's two; what
// the lanes below the lowest hold on the way does not matter.
__m256d Exp(__m256d x) {
  const __m256d counts = _mm256_cmp_pd(x, _mm256_set1_pd(exp64::kLowest), _CMP_GE_OQ);
  const __m256d rounder = _mm256_set1_pd(exp64::kRounder);
  const __m256d shifted = _mm256_add_pd(_mm256_mul_pd(x, _mm256_set1_pd(exp64::kLog2E)), rounder);
  const __m256d k = _mm256_sub_pd(shifted, rounder);
  const __m256d high = _mm256_sub_pd(x, _mm256_mul_pd(k, _mm256_set1_pd(exp64::kLn2High)));
  const __m256d low = _mm256_mul_pd(k, _mm256_set1_pd(exp64::kLn2Low));
  const __m256d r = _mm256_sub_pd(high, low);
  __m256d q = _mm256_set1_pd(exp64::kSeries[0]);
  for (int i = 1; i < exp64::kTerms; ++i) {
    q = _mm256_add_pd(_mm256_mul_pd(q, r), _mm256_set1_pd(exp64::kSeries[i]));
  }
  const __m256d lost = _mm256_sub_pd(_mm256_sub_pd(high, r), low);
  const __m256d square = _mm256_add_pd(_mm256_mul_pd(_mm256_mul_pd(r, r), q), lost);
  const __m256d value = _mm256_add_pd(_mm256_set1_pd(1.0), _mm256_add_pd(r, square));
  // k stands in the low bits of `shifted`: moved to the exponent's place and added there.
  const __m256i exponent = _mm256_slli_epi64(_mm256_castpd_si256(shifted), 52);
  const __m256i scaled = _mm256_add_epi64(_mm256_castpd_si256(value), exponent);
  return _mm256_and_pd(_mm256_castsi256_pd(scaled), counts);
}

// x[0 .. 4) - shift; the lanes from count on give terms of +0.
__m256d Shifted(const float* x, std::size_t count, __m256d shift) {
  __m128 values = _mm_castsi128_ps(_mm_set1_epi32(static_cast<int>(0xff800000u)));
  if (count >= 4) {
    values = _mm_loadu_ps(x);
  } else if (count > 0) {
    const __m128i lanes = _mm_setr_epi32(0, 1, 2, 3);
    const __m128i mask = _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(count)), lanes);
    values = _mm_blendv_ps(values, _mm_maskload_ps(x, mask), _mm_castsi128_ps(mask));
  }
  return _mm256_sub_pd(_mm256_cvtps_pd(values), shift);
}

}  // namespace

void ExpTerms(const ExpSumsArgs& args, double* terms) {
  const __m256d shift = _mm256_set1_pd(args.shift);
  const __m256d divisor = _mm256_set1_pd(args.divisor);
  for (std::size_t i = 0; i < args.count; i += 4) {
    const std::size_t left = args.count - i;
    const __m256d term = Exp(_mm256_div_pd(Shifted(args.x + i, left, shift), divisor));
    if (left >= 4) {
      _mm256_storeu_pd(terms + i, term);
    } else {
      alignas(32) double last[4];
      _mm256_store_pd(last, term);
      for (std::size_t j = 0; j < left; ++j) {
        terms[i + j] = last[j];
      }
    }
  }
}

double ExpTotal(const ExpSumsArgs& args) {
  const __m256d shift = _mm256_set1_pd(args.shift);
  __m256d lanes[4] = {
      _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()
  };
  std::size_t i = 0;
  for (; i + 16 <= args.count; i += 16) {
    for (std::size_t j = 0; j < 4; ++j) {
      lanes[j] = _mm256_add_pd(lanes[j], Exp(Shifted(args.x + i + 4 * j, 4, shift)));
    }
  }
  for (std::size_t j = 0; j < 4 && i + 4 * j < args.count; ++j) {
    const std::size_t at = i + 4 * j;
    lanes[j] = _mm256_add_pd(lanes[j], Exp(Shifted(args.x + at, args.count - at, shift)));
  }
  const __m256d four =
      _mm256_add_pd(_mm256_add_pd(lanes[0], lanes[2]), _mm256_add_pd(lanes[1], lanes[3]));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

void ExpBlockSums(const ExpSumsArgs& args, double* sums) {
  const __m256d shift = _mm256_set1_pd(args.shift);
  const __m256d divisor = _mm256_set1_pd(args.divisor);
  alignas(32) double terms[kExpBlocksAtOnce * kExpStride];
  double eight[kExpBlocksAtOnce];
  for (std::size_t first = 0; first < args.count; first += kExpBlocksAtOnce * kExpBlock) {
    const std::size_t left = args.count - first;
    for (std::size_t i = 0; i < kExpBlocksAtOnce * kExpBlock; i += 4) {
      const std::size_t count = i < left ? left - i : 0;
      const __m256d x = Shifted(args.x + first + (count > 0 ? i : 0), count, shift);
      _mm256_store_pd(
          terms + i / kExpBlock * kExpStride + i % kExpBlock, Exp(_mm256_div_pd(x, divisor))
      );
    }
    SumEightBlocks(terms, eight);
    for (std::size_t block = 0; block < kExpBlocksAtOnce && block * kExpBlock < left; ++block) {
      sums[first / kExpBlock + block] = eight[block];
    }
  }
}

}  // namespace hearth::avx2
