#include "kernels/quantize_rows.h"

#include <immintrin.h>

#include "kernels/segment_scale_internal.h"

namespace hearth::avx2 {
namespace {

// The bits of the largest magnitude of 32 * groups values.
int LargestMagnitudeBits(const float* x, std::size_t groups) {
  const __m256i mask = _mm256_set1_epi32(0x7fffffff);
  __m256i most = _mm256_setzero_si256();
  for (std::size_t i = 0; i < groups * kGroupInputs; i += 8) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    most = _mm256_max_epi32(most, _mm256_and_si256(bits, mask));
  }
  __m128i rest = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
  rest = _mm_max_epi32(rest, _mm_shuffle_epi32(rest, 0x4e));
  rest = _mm_max_epi32(rest, _mm_shuffle_epi32(rest, 0xb1));
  return _mm_cvtsi128_si32(rest);
}

int Sum(__m256i values) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
  return _mm_cvtsi128_si32(sum);
}

// 16 integers of 32 bits as bytes, in order.
__m128i ToBytes(__m256i first, __m256i second) {
  // Packing works within 128-bit lanes, so the quarters come out crossed.
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xd8);
  return _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

}  // namespace

void QuantizeRows(const QuantizeRowsArgs& args) {
  const auto& out = args.out;
  const std::size_t segments = SegmentCount(out.groups);
  for (std::size_t row = args.first_row; row < args.last_row; ++row) {
    const RowPlace place = PlaceOf(row, out.rows);
    const float* x = args.x + row * args.stride;
    for (std::size_t s = 0; s < segments; ++s) {
      const std::size_t first = s * kSegmentGroups;
      const std::size_t rest = out.groups - first;
      const std::size_t groups = rest < kSegmentGroups ? rest : kSegmentGroups;
      const SegmentScale scale =
          ScaleOfMagnitude(LargestMagnitudeBits(x + first * kGroupInputs, groups));
      out.factor[place.At(s, segments)] = scale.factor;
      const __m256i used = _mm256_set1_epi32(scale.inverse != 0.0f ? -1 : 0);
      for (std::size_t g = first; g < first + groups; ++g) {
        const std::size_t at = place.At(g, out.groups);
        std::int8_t* planes = out.planes + at * 2 * kGroupInputs;
        int sums[2];
        for (std::size_t half = 0; half < 2; ++half) {
          __m256i high[2], low[2], a[2];
          for (std::size_t i = 0; i < 2; ++i) {
            const __m256 values = _mm256_loadu_ps(x + g * kGroupInputs + half * 16 + i * 8);
            a[i] = _mm256_and_si256(
                used, _mm256_cvtps_epi32(_mm256_mul_ps(values, _mm256_set1_ps(scale.inverse)))
            );
            high[i] = _mm256_srai_epi32(_mm256_add_epi32(a[i], _mm256_set1_epi32(8)), 4);
            low[i] = _mm256_sub_epi32(a[i], _mm256_slli_epi32(high[i], 4));
          }
          auto* to = reinterpret_cast<__m128i*>(planes + 16 * half);
          _mm_storeu_si128(to, ToBytes(high[0], high[1]));
          _mm_storeu_si128(to + 2, ToBytes(low[0], low[1]));
          sums[half] = Sum(_mm256_add_epi32(a[0], a[1]));
          out.half_offset[place.At(2 * g + half, 2 * out.groups)] = -2 * sums[half];
        }
        const int sum = sums[0] + sums[1];
        out.offset[at] = -8 * sum;
        out.sum[at] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace hearth::avx2
