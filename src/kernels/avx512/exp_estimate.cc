#include "kernels/exp_estimate.h"

#include <immintrin.h>

#include "kernels/avx512/vector_internal.h"
#include "kernels/exp2_constants.h"

namespace hearth::avx512 {
namespace {

__m512 Term(__m512 x, __m512 shift) {
  const __m512 rounder = _mm512_set1_ps(exp2f::kRounder);
  const __m512 u = _mm512_mul_ps(_mm512_sub_ps(x, shift), _mm512_set1_ps(exp2f::kLog2E));
  const __m512 shifted = _mm512_add_ps(u, rounder);
  const __m512 r = _mm512_sub_ps(u, _mm512_sub_ps(shifted, rounder));
  __m512 p = _mm512_set1_ps(exp2f::kSeries[0]);
  for (int i = 1; i < exp2f::kTerms; ++i) {
    p = _mm512_add_ps(_mm512_mul_ps(p, r), _mm512_set1_ps(exp2f::kSeries[i]));
  }
  const __mmask16 counts = _mm512_cmp_ps_mask(u, _mm512_set1_ps(exp2f::kLowest), _CMP_GE_OQ);
  const __m512i exponent = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
  return _mm512_castsi512_ps(_mm512_maskz_add_epi32(counts, _mm512_castps_si512(p), exponent));
}

}  // namespace

double ExpEstimate(const ExpEstimateArgs& args) {
  const __m512 shift = _mm512_set1_ps(args.shift);
  const __m512 masked = _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(0xff800000u)));
  double total = 0;
  for (std::size_t first = 0; first < args.count; first += kExpEstimateChunk) {
    const std::size_t left = args.count - first;
    const std::size_t count = left < kExpEstimateChunk ? left : kExpEstimateChunk;
    const float* x = args.x + first;
    __m512 lanes = _mm512_setzero_ps();
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16) {
      lanes = _mm512_add_ps(lanes, Term(_mm512_loadu_ps(x + i), shift));
    }
    if (i < count) {
      const __m512 rest = _mm512_mask_loadu_ps(masked, FirstLanes(count - i), x + i);
      lanes = _mm512_add_ps(lanes, Term(rest, shift));
    }
    total += static_cast<double>(TreeSum(lanes));
  }
  return total;
}

}  // namespace hearth::avx512
