#include "kernels/attention.h"
#include "kernels/avx512/vector_internal.h"

namespace hearth::avx512 {
namespace {

// FloatToBf16 on 16 lanes.
__m256i ToBf16(__m512 value) {
  const __m512i bits = _mm512_castps_si512(value);
  const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
  const __mmask16 nan = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x7f800000));
  const __mmask16 tiny = _mm512_cmplt_epi32_mask(magnitude, _mm512_set1_epi32(0x00800000));
  const __m512i high = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
  __m512i rounded = _mm512_srli_epi32(
      _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16
  );
  rounded = _mm512_mask_or_epi32(rounded, nan, high, _mm512_set1_epi32(0x40));
  rounded = _mm512_mask_and_epi32(rounded, tiny, high, _mm512_set1_epi32(0x8000));
  return _mm512_cvtepi32_epi16(rounded);
}

// The values of x [d .. d + 15], rotated where they are parts of pairs.
__m512 Rotated(const RotateHeadArgs& args, std::size_t d) {
  const __mmask16 real = FirstLanes(d < args.head_dim ? args.head_dim - d : 0);
  const __m512 x = _mm512_maskz_loadu_ps(real, args.x + d);
  if (d >= 2 * args.pairs) {
    return x;
  }
  const std::size_t pairs = args.pairs - d / 2;
  const auto some = static_cast<__mmask8>(FirstLanes(pairs < 8 ? pairs : 8));
  const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  const auto spread = [&](const float* angles) {
    const __m256 loaded = _mm256_maskz_loadu_ps(some, angles + d / 2);
    return _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(loaded));
  };
  const __m512 cosine = _mm512_mul_ps(x, spread(args.cosine));
  const __m512 sine = _mm512_mul_ps(_mm512_permute_ps(x, 0xb1), spread(args.sine));
  const __m512 turned = _mm512_mask_sub_ps(_mm512_add_ps(cosine, sine), 0x5555, cosine, sine);
  return _mm512_mask_mov_ps(x, FirstLanes(2 * pairs), turned);
}

}  // namespace

void RotateHead(const RotateHeadArgs& args) {
  for (std::size_t d = 0; d < args.padded_dim; d += 16) {
    const __m512 value = Rotated(args, d);
    if (args.storage == KvStorage::kF32) {
      _mm512_storeu_ps(args.out + 4 * d, value);
    } else {
      void* to = args.out + 2 * d;
      _mm256_storeu_si256(static_cast<__m256i*>(to), ToBf16(value));
    }
  }
}

}  // namespace hearth::avx512
