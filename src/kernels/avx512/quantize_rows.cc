#include "kernels/quantize_rows.h"

#include "kernels/avx512/vector_internal.h"
#include "kernels/segment_scale_internal.h"

namespace hearth::avx512 {
namespace {

// The bits of the largest magnitude of 32 * groups values.
int LargestMagnitudeBits(const float* x, std::size_t groups) {
  const __m512i mask = _mm512_set1_epi32(0x7fffffff);
  __m512i most[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t half = 0; half < 2; ++half) {
      const __m512i bits = _mm512_loadu_si512(x + g * kGroupInputs + half * 16);
      most[half] = _mm512_max_epi32(most[half], _mm512_and_si512(bits, mask));
    }
  }
  return _mm512_reduce_max_epi32(_mm512_max_epi32(most[0], most[1]));
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
      const __mmask16 used = scale.inverse != 0.0f ? 0xffff : 0;
      for (std::size_t g = first; g < first + groups; ++g) {
        const std::size_t at = place.At(g, out.groups);
        std::int8_t* planes = out.planes + at * 2 * kGroupInputs;
        int sums[2];
        for (std::size_t half = 0; half < 2; ++half) {
          const __m512 values = _mm512_loadu_ps(x + g * kGroupInputs + half * 16);
          const __m512i a =
              _mm512_maskz_cvtps_epi32(used, _mm512_mul_ps(values, _mm512_set1_ps(scale.inverse)));
          const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(a, _mm512_set1_epi32(8)), 4);
          const __m512i low = _mm512_sub_epi32(a, _mm512_slli_epi32(high, 4));
          auto* to = reinterpret_cast<__m128i*>(planes + 16 * half);
          _mm_storeu_si128(to, _mm512_cvtepi32_epi8(high));
          _mm_storeu_si128(to + 2, _mm512_cvtepi32_epi8(low));
          sums[half] = _mm512_reduce_add_epi32(a);
          out.half_offset[place.At(2 * g + half, 2 * out.groups)] = -2 * sums[half];
        }
        const int sum = sums[0] + sums[1];
        out.offset[at] = -8 * sum;
        out.sum[at] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace hearth::avx512
