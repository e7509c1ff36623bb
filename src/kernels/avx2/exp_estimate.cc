#include "kernels/exp_estimate.h"

#include <immintrin.h>

#include "kernels/exp2_constants.h"

namespace hearth::avx2 {
namespace {

__m256 Term(__m256 x, __m256 shift) {
  const __m256 rounder = _mm256_set1_ps(exp2f::kRounder);
  const __m256 u = _mm256_mul_ps(_mm256_sub_ps(x, shift), _mm256_set1_ps(exp2f::kLog2E));
  const __m256 shifted = _mm256_add_ps(u, rounder);
  const __m256 r = _mm256_sub_ps(u, _mm256_sub_ps(shifted, rounder));
  __m256 p = _mm256_set1_ps(exp2f::kSeries[0]);
  for (int i = 1; i < exp2f::kTerms; ++i) {
    p = _mm256_add_ps(_mm256_mul_ps(p, r), _mm256_set1_ps(exp2f::kSeries[i]));
  }
  const __m256 counts = _mm256_cmp_ps(u, _mm256_set1_ps(exp2f::kLowest), _CMP_GE_OQ);
  const __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
  const __m256i scaled = _mm256_add_epi32(_mm256_castps_si256(p), exponent);
  return _mm256_and_ps(_mm256_castsi256_ps(scaled), counts);
}

}  // namespace

double ExpEstimate(const ExpEstimateArgs& args) {
  const __m256 shift = _mm256_set1_ps(args.shift);
  double total = 0;
  for (std::size_t first = 0; first < args.count; first += kExpEstimateChunk) {
    const std::size_t left = args.count - first;
    const std::size_t count = left < kExpEstimateChunk ? left : kExpEstimateChunk;
    const float* x = args.x + first;
    __m256 low = _mm256_setzero_ps();
    __m256 high = _mm256_setzero_ps();
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16) {
      low = _mm256_add_ps(low, Term(_mm256_loadu_ps(x + i), shift));
      high = _mm256_add_ps(high, Term(_mm256_loadu_ps(x + i + 8), shift));
    }
    if (i < count) {
      alignas(32) float rest[16];
      const __m256 masked = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xff800000u)));
      _mm256_store_ps(rest, masked);
      _mm256_store_ps(rest + 8, masked);
      for (std::size_t j = 0; i + j < count; ++j) {
        rest[j] = x[i + j];
      }
      low = _mm256_add_ps(low, Term(_mm256_load_ps(rest), shift));
      high = _mm256_add_ps(high, Term(_mm256_load_ps(rest + 8), shift));
    }
    const __m256 eight = _mm256_add_ps(low, high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    const __m128 one = _mm_add_ss(two, _mm_shuffle_ps(two, two, 1));
    total += static_cast<double>(_mm_cvtss_f32(one));
  }
  return total;
}

}  // namespace hearth::avx2
