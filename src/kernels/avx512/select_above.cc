#include "kernels/select_above.h"

#include <immintrin.h>

namespace hearth::avx512 {
namespace {

// Writes the chosen of 16 numbers and returns how many. A whole vector is stored: compressing into memory is slow on some processors.
std::size_t Put(std::uint32_t* out, __mmask16 chosen, __m512i numbers) {
  _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(chosen, numbers));
  return static_cast<std::size_t>(__builtin_popcount(chosen));
}

}  // namespace

std::size_t SelectAbove(const SelectAboveArgs& args) {
  const __m512 threshold = _mm512_set1_ps(args.threshold);
  const __m512i ascending = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto numbers = [&](std::size_t i) {
    const auto start = static_cast<int>(args.first + static_cast<std::uint32_t>(i));
    return _mm512_add_epi32(_mm512_set1_epi32(start), ascending);
  };
  std::size_t found = 0;
  std::size_t i = 0;
  for (; i + 64 <= args.count; i += 64) {
    __mmask16 above[4];
    for (std::size_t j = 0; j < 4; ++j) {
      above[j] = _mm512_cmp_ps_mask(_mm512_loadu_ps(args.x + i + 16 * j), threshold, _CMP_GT_OQ);
    }
    if ((above[0] | above[1] | above[2] | above[3]) != 0) {
      for (std::size_t j = 0; j < 4; ++j) {
        found += Put(args.out + found, above[j], numbers(i + 16 * j));
      }
    }
  }
  for (; i < args.count; i += 16) {
    const std::size_t left = args.count - i;
    const __mmask16 mask =
        left >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1u << left) - 1u);
    const __m512 x = _mm512_maskz_loadu_ps(mask, args.x + i);
    found +=
        Put(args.out + found, _mm512_mask_cmp_ps_mask(mask, x, threshold, _CMP_GT_OQ), numbers(i));
  }
  return found;
}

}  // namespace hearth::avx512
