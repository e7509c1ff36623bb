#include "kernels/row_peak.h"

#include <immintrin.h>

namespace hearth::avx2 {
namespace {

constexpr std::size_t kBlock = 1024;  // the index is looked for in one of these

float Most(float a, float b) {
  return a > b ? a : b;
}

// Of a vector without NaN.
float LargestOf(__m256 x) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

}  // namespace

RowPeak FindRowPeak(const float* x, std::size_t count) {
  const float infinity = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(0x7f800000)));
  float best = -infinity;
  std::size_t best_block = 0;
  __m256 unordered = _mm256_setzero_ps();
  bool ordered = true;
  for (std::size_t first = 0; first < count; first += kBlock) {
    const __m256 start = _mm256_set1_ps(best);
    __m256 most[4] = {start, start, start, start};
    const std::size_t left = count - first < kBlock ? count - first : kBlock;
    std::size_t i = 0;
    for (; i + 32 <= left; i += 32) {
      const float* at = x + first + i;
      const __m256 a = _mm256_loadu_ps(at);
      const __m256 b = _mm256_loadu_ps(at + 8);
      const __m256 c = _mm256_loadu_ps(at + 16);
      const __m256 d = _mm256_loadu_ps(at + 24);
      unordered = _mm256_or_ps(unordered, _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
      unordered = _mm256_or_ps(unordered, _mm256_cmp_ps(c, d, _CMP_UNORD_Q));
      most[0] = _mm256_max_ps(most[0], a);
      most[1] = _mm256_max_ps(most[1], b);
      most[2] = _mm256_max_ps(most[2], c);
      most[3] = _mm256_max_ps(most[3], d);
    }
    float block = best;
    for (; i < left; ++i) {
      ordered = ordered && x[first + i] < infinity;
      block = Most(block, x[first + i]);
    }
    const __m256 all =
        _mm256_max_ps(_mm256_max_ps(most[0], most[1]), _mm256_max_ps(most[2], most[3]));
    block = Most(block, LargestOf(all));
    if (block > best) {
      best = block;
      best_block = first;
    }
  }
  RowPeak peak{best, 0, ordered && _mm256_movemask_ps(unordered) == 0 && best < infinity};
  if (peak.ordered && count > 0) {
    peak.index = best_block;
    while (x[peak.index] != best) {
      ++peak.index;
    }
    peak.value = x[peak.index];
  }
  return peak;
}

}  // namespace hearth::avx2
