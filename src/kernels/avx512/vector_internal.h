// Small vector pieces shared by the AVX-512 kernels. Everything is static: an inline function with
// external linkage, compiled for AVX-512, could win at link time and crash older machines.
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "kernels/exp_constants.h"

namespace hearth::avx512 {

// The sum of FixedTreeSum.
static inline __attribute__((unused)) float TreeSum(__m512 lanes) {
  const __m256 high8 = _mm512_extractf32x8_ps(lanes, 1);
  const __m256 sum8 = _mm256_add_ps(_mm512_castps512_ps256(lanes), high8);
  const __m128 sum4 = _mm_add_ps(_mm256_castps256_ps128(sum8), _mm256_extractf128_ps(sum8, 1));
  const __m128 sum2 = _mm_add_ps(sum4, _mm_movehl_ps(sum4, sum4));
  return _mm_cvtss_f32(_mm_add_ss(sum2, _mm_shuffle_ps(sum2, sum2, 1)));
}

// VectorExp on 16 lanes, none of which is above kExpHigh.
static inline __attribute__((unused)) __m512 ExpOfModest(__m512 x) {
  const __m512 magic = _mm512_set1_ps(kRoundMagic);
  const __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(x, _mm512_set1_ps(kLog2E), magic), magic);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2High), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2Low), r);
  __m512 poly = _mm512_set1_ps(kExpPoly[7]);
  for (int i = 6; i >= 0; --i) {
    poly = _mm512_fmadd_ps(poly, r, _mm512_set1_ps(kExpPoly[i]));
  }
  // A NaN is not below the limit and comes through.
  const __mmask16 kept = _mm512_cmp_ps_mask(x, _mm512_set1_ps(kExpLow), _CMP_NLT_UQ);
  return _mm512_maskz_scalef_ps(kept, poly, n);
}

// VectorExp on 16 lanes.
static inline __attribute__((unused)) __m512 Exp(__m512 x) {
  return ExpOfModest(_mm512_min_ps(_mm512_set1_ps(kExpHigh), x));  // of a NaN, the second operand
}

// The mask of the first `count` of 16 lanes.
static inline __attribute__((unused)) __mmask16 FirstLanes(std::size_t count) {
  return count >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1u << count) - 1u);
}

}  // namespace hearth::avx512
