#include <immintrin.h>

#include "forms/vector_forms_internal.h"

namespace hearth::forms::avx2 {
namespace {

struct Lanes {
  using Ints = __m256i;
  using Floats = __m256;

  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kManyRows = 3;

  static Ints Load(const std::byte* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  }

  static Ints Low4(Ints bytes) { return _mm256_and_si256(bytes, _mm256_set1_epi8(0xf)); }

  static Ints High4(Ints bytes) { return Low4(_mm256_srli_epi16(bytes, 4)); }

  template <int kIndex>
  static Ints TwoBits(Ints bytes) {
    const Ints moved = kIndex < 2 ? _mm256_slli_epi16(bytes, 4 - 2 * kIndex)
                                  : _mm256_srli_epi16(bytes, 2 * kIndex - 4);
    return _mm256_and_si256(moved, _mm256_set1_epi8(0x30));
  }

  static Ints Or(Ints a, Ints b) { return _mm256_or_si256(a, b); }

  static Floats Halves(const std::byte* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }

  static Floats Bytes(const std::byte* at) {
    return ToFloat(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at))));
  }

  static Ints SignedBytes(const std::byte* at) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
  }

  static Floats ToFloat(Ints a) { return _mm256_cvtepi32_ps(a); }

  static Floats Set(float value) { return _mm256_set1_ps(value); }

  static Floats Add(Floats a, Floats b) { return _mm256_add_ps(a, b); }

  static Floats Mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }

  static Floats Fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }

  static Floats Negate(Floats a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f)); }

  static Floats LoadFloats(const float* at) { return _mm256_loadu_ps(at); }

  static void StoreFloats(float* at, Floats values) { _mm256_storeu_ps(at, values); }

  // Taking 8 off a code is turning bit 3 into a sign.
  template <int kShift, int kZero>
  static Floats Nibble(Ints words) {
    static_assert(kZero == 0 || kZero == 8);
    if constexpr (kZero == 8) {
      const Ints flipped = _mm256_xor_si256(words, _mm256_set1_epi8(static_cast<char>(0x88)));
      return ToFloat(_mm256_srai_epi32(_mm256_slli_epi32(flipped, 28 - kShift), 28));
    } else {
      return ToFloat(_mm256_and_si256(_mm256_srli_epi32(words, kShift), _mm256_set1_epi32(0xf)));
    }
  }

  template <int kByte>
  static Floats SignedByte(Ints words) {
    return ToFloat(_mm256_srai_epi32(_mm256_slli_epi32(words, 24 - 8 * kByte), 24));
  }

  static Ints SubtractBytes(Ints words, char n) {
    return _mm256_sub_epi8(words, _mm256_set1_epi8(n));
  }

  static Floats RoundBf16(Floats values) {
    const Ints bits = _mm256_castps_si256(values);
    const Ints odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const Ints up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    return _mm256_castsi256_ps(_mm256_and_si256(up, _mm256_set1_epi32(-0x10000)));
  }
};

}  // namespace

void FormG(const FormArgs& args) {
  RunVectorForm<Lanes, Form::kG>(args);
}

void FormR(const FormArgs& args) {
  RunVectorForm<Lanes, Form::kR>(args);
}

}  // namespace hearth::forms::avx2
