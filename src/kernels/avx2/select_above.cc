#include "kernels/select_above.h"

#include <immintrin.h>

namespace hearth::avx2 {

std::size_t SelectAbove(const SelectAboveArgs& args) {
  const __m256 threshold = _mm256_set1_ps(args.threshold);
  std::size_t found = 0;
  std::size_t i = 0;
  for (; i + 32 <= args.count; i += 32) {
    unsigned above = 0;
    for (unsigned j = 0; j < 4; ++j) {
      const __m256 x = _mm256_loadu_ps(args.x + i + 8 * j);
      const int mask = _mm256_movemask_ps(_mm256_cmp_ps(x, threshold, _CMP_GT_OQ));
      above |= static_cast<unsigned>(mask) << (8 * j);
    }
    for (; above != 0; above &= above - 1) {
      const auto place = static_cast<std::uint32_t>(__builtin_ctz(above));
      args.out[found++] = args.first + static_cast<std::uint32_t>(i) + place;
    }
  }
  for (; i < args.count; ++i) {
    if (args.x[i] > args.threshold) {
      args.out[found++] = args.first + static_cast<std::uint32_t>(i);
    }
  }
  return found;
}

}  // namespace hearth::avx2
