#include "kernels/attention.h"
#include "kernels/avx2/vector_internal.h"

namespace hearth::avx2 {
namespace {

// FloatToBf16 on 8 lanes.
__m128i ToBf16(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
  const __m256i nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000));
  const __m256i tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x00800000), magnitude);
  const __m256i high = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
  __m256i rounded = _mm256_srli_epi32(
      _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16
  );
  rounded = _mm256_blendv_epi8(rounded, _mm256_or_si256(high, _mm256_set1_epi32(0x40)), nan);
  rounded = _mm256_blendv_epi8(rounded, _mm256_and_si256(high, _mm256_set1_epi32(0x8000)), tiny);
  return _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
}

// The values of x [d .. d + 7], rotated where they are parts of pairs.
__m256 Rotated(const RotateHeadArgs& args, std::size_t d) {
  const __m256i real = FirstLanes(d < args.head_dim ? args.head_dim - d : 0);
  const __m256 x = _mm256_maskload_ps(args.x + d, real);
  if (d >= 2 * args.pairs) {
    return x;
  }
  const std::size_t pairs = args.pairs - d / 2;
  const __m128i some = _mm256_castsi256_si128(FirstLanes(pairs));
  const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
  const auto spread = [&](const float* angles) {
    const __m128 loaded = _mm_maskload_ps(angles + d / 2, some);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(loaded), twice);
  };
  const __m256 cosine = _mm256_mul_ps(x, spread(args.cosine));
  const __m256 sine = _mm256_mul_ps(_mm256_permute_ps(x, 0xb1), spread(args.sine));
  const __m256 turned = _mm256_addsub_ps(cosine, sine);  // the even ones are differences
  return _mm256_blendv_ps(x, turned, _mm256_castsi256_ps(FirstLanes(2 * pairs)));
}

}  // namespace

void RotateHead(const RotateHeadArgs& args) {
  for (std::size_t d = 0; d < args.padded_dim; d += 8) {
    const __m256 value = Rotated(args, d);
    void* to = args.out + KvBytes(args.storage) * d;
    if (args.storage == KvStorage::kF32) {
      _mm256_storeu_ps(static_cast<float*>(to), value);
    } else {
      _mm_storeu_si128(static_cast<__m128i*>(to), ToBf16(value));
    }
  }
}

}  // namespace hearth::avx2
