#include "kernels/quantize_rows.h"

#include "kernels/avx512/vector_internal.h"

namespace hearth::avx512 {
namespace {

constexpr int kInfinityBits = 0x7f800000;
constexpr int kSmallestMagnitudeBits = (127 - 90) << 23;  // 2^-90

// A block of kVectors * 16 values.
template <std::size_t kVectors>
void QuantizeRange(const QuantizeRowsArgs& args) {
  constexpr std::size_t kGroup = 16 * kVectors;
  const __m512i magnitude_mask = _mm512_set1_epi32(0x7fffffff);
  for (std::size_t row = args.first_row; row < args.last_row; ++row) {
    for (std::size_t g = 0; g < args.groups; ++g) {
      const float* x = args.x + row * args.stride + g * kGroup;
      const std::size_t at = row * args.groups + g;
      std::int8_t* high = args.out.planes + at * 2 * kGroup;
      std::int8_t* low = high + kGroup;
      __m512 values[kVectors];
      __m512i most = _mm512_setzero_si512();
      for (std::size_t v = 0; v < kVectors; ++v) {
        values[v] = _mm512_loadu_ps(x + 16 * v);
        most = _mm512_max_epi32(
            most, _mm512_and_si512(_mm512_castps_si512(values[v]), magnitude_mask)
        );
      }
      const int bits = _mm512_reduce_max_epi32(most);
      float inverse = 0.0f;
      float factor = 0.0f;
      if (bits >= kInfinityBits) {
        factor = __builtin_nanf("");
      } else if (bits >= kSmallestMagnitudeBits) {
        float magnitude;
        __builtin_memcpy(&magnitude, &bits, sizeof magnitude);
        inverse = 32512.0f / magnitude;
        factor = magnitude / 32512.0f;
      }
      __m512i sum = _mm512_setzero_si512();
      for (std::size_t v = 0; v < kVectors; ++v) {
        // A block without a usable magnitude becomes all zeros, whatever its values are.
        const __mmask16 used = inverse != 0.0f ? 0xffff : 0;
        const __m512i a =
            _mm512_maskz_cvtps_epi32(used, _mm512_mul_ps(values[v], _mm512_set1_ps(inverse)));
        const __m512i low32 = _mm512_srai_epi32(_mm512_slli_epi32(a, 24), 24);
        const __m512i high32 = _mm512_srai_epi32(_mm512_sub_epi32(a, low32), 8);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(low + 16 * v), _mm512_cvtepi32_epi8(low32));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(high + 16 * v), _mm512_cvtepi32_epi8(high32));
        sum = _mm512_add_epi32(sum, a);
      }
      const int total = _mm512_reduce_add_epi32(sum);
      args.out.factor[at] = factor;
      args.out.sum[at] = total;
      args.out.scaled_sum[at] = factor * static_cast<float>(total);
    }
  }
}

}  // namespace

void QuantizeRows(const QuantizeRowsArgs& args) {
  if (args.group == 32) {
    QuantizeRange<2>(args);
  } else {
    QuantizeRange<1>(args);
  }
}

}  // namespace hearth::avx512
