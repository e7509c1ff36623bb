#include "kernels/row_peak.h"

#include <immintrin.h>

namespace hearth::avx512 {
namespace {

constexpr std::size_t kBlock = 1024;  // the index is looked for in one of these

__m512 NegativeInfinity() {
  return _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(0xff800000u)));
}

__m512 LoadUpTo16(const float* x, std::size_t count) {
  const __mmask16 mask =
      count >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1u << count) - 1u);
  return _mm512_mask_loadu_ps(NegativeInfinity(), mask, x);
}

}  // namespace

RowPeak FindRowPeak(const float* x, std::size_t count) {
  __m512 best = NegativeInfinity();  // the same value in every lane
  std::size_t best_block = 0;
  __mmask16 unordered = 0;
  for (std::size_t first = 0; first < count; first += kBlock) {
    __m512 most[4] = {best, best, best, best};
    const std::size_t left = count - first < kBlock ? count - first : kBlock;
    std::size_t i = 0;
    for (; i + 64 <= left; i += 64) {
      const float* at = x + first + i;
      const __m512 a = _mm512_loadu_ps(at);
      const __m512 b = _mm512_loadu_ps(at + 16);
      const __m512 c = _mm512_loadu_ps(at + 32);
      const __m512 d = _mm512_loadu_ps(at + 48);
      unordered |= _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
      unordered |= _mm512_cmp_ps_mask(c, d, _CMP_UNORD_Q);
      most[0] = _mm512_max_ps(most[0], a);
      most[1] = _mm512_max_ps(most[1], b);
      most[2] = _mm512_max_ps(most[2], c);
      most[3] = _mm512_max_ps(most[3], d);
    }
    for (; i < left; i += 16) {
      const __m512 a = LoadUpTo16(x + first + i, left - i);
      unordered |= _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
      most[0] = _mm512_max_ps(most[0], a);
    }
    const __m512 block =
        _mm512_max_ps(_mm512_max_ps(most[0], most[1]), _mm512_max_ps(most[2], most[3]));
    if (_mm512_cmp_ps_mask(block, best, _CMP_GT_OQ) != 0) {
      best = _mm512_set1_ps(_mm512_reduce_max_ps(block));
      best_block = first;
    }
  }
  RowPeak peak{_mm512_cvtss_f32(best), 0, false};
  const __mmask16 infinite =
      _mm512_cmp_ps_mask(best, _mm512_sub_ps(_mm512_setzero_ps(), NegativeInfinity()), _CMP_EQ_OQ);
  if (unordered != 0 || infinite != 0) {
    return peak;
  }
  peak.ordered = true;
  for (std::size_t i = best_block; i < count; i += 16) {
    const __mmask16 equal = _mm512_cmp_ps_mask(LoadUpTo16(x + i, count - i), best, _CMP_EQ_OQ);
    if (equal != 0) {
      peak.index = i + static_cast<std::size_t>(__builtin_ctz(equal));
      peak.value = x[peak.index];
      break;
    }
  }
  return peak;
}

}  // namespace hearth::avx512
