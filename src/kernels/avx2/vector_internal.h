// Small vector pieces shared by the AVX2 kernels; everything is static, as in avx512/vector_internal.h.
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "kernels/exp_constants.h"

namespace hearth::avx2 {

// The sum of FixedTreeSum over lanes 0 .. 7 and 8 .. 15.
static inline __attribute__((unused)) float TreeSum(__m256 low, __m256 high) {
  const __m256 sum8 = _mm256_add_ps(low, high);
  const __m128 sum4 = _mm_add_ps(_mm256_castps256_ps128(sum8), _mm256_extractf128_ps(sum8, 1));
  const __m128 sum2 = _mm_add_ps(sum4, _mm_movehl_ps(sum4, sum4));
  return _mm_cvtss_f32(_mm_add_ss(sum2, _mm_shuffle_ps(sum2, sum2, 1)));
}

// VectorExp on 8 lanes.
static inline __attribute__((unused)) __m256 Exp(__m256 value) {
  const __m256 x = _mm256_min_ps(_mm256_set1_ps(kExpHigh), value);  // of a NaN, the second operand
  const __m256 magic = _mm256_set1_ps(kRoundMagic);
  const __m256 n = _mm256_sub_ps(_mm256_fmadd_ps(x, _mm256_set1_ps(kLog2E), magic), magic);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2High), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2Low), r);
  __m256 poly = _mm256_set1_ps(kExpPoly[7]);
  for (int i = 6; i >= 0; --i) {
    poly = _mm256_fmadd_ps(poly, r, _mm256_set1_ps(kExpPoly[i]));
  }
  const __m256i exponent =
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  // A NaN is not below the limit and comes through.
  const __m256 kept = _mm256_cmp_ps(x, _mm256_set1_ps(kExpLow), _CMP_NLT_UQ);
  return _mm256_and_ps(kept, _mm256_mul_ps(poly, _mm256_castsi256_ps(exponent)));
}

// All bits of the first `count` of 8 lanes.
static inline __attribute__((unused)) __m256i FirstLanes(std::size_t count) {
  const int limit = count < 8 ? static_cast<int>(count) : 8;
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(limit), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

}  // namespace hearth::avx2
