// Panel groups on AVX-512 (panel_group_internal.h).
#pragma once

#include <immintrin.h>

#include "kernels/avx512/panel_simd_internal.h"

namespace hearth::forms {
namespace {

struct Avx512Forms : Avx512Lanes {
  static constexpr std::size_t kManyRows = 4;

  static Floats Add(Floats a, Floats b) { return _mm512_add_ps(a, b); }

  static Floats LoadFloats(const float* at) { return _mm512_loadu_ps(at); }

  static void StoreFloats(float* at, Floats values) { _mm512_storeu_ps(at, values); }

  // A table of 16 values looks at four bits of the index only.
  template <int kShift, int kZero>
  static Floats Nibble(Ints words) {
    static_assert(kZero == 0 || kZero == 8);
    const __m512 table =
        kZero == 8 ? _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7)
                   : _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_permutexvar_ps(_mm512_srli_epi32(words, kShift), table);
  }

  template <int kByte>
  static Floats SignedByte(Ints words) {
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(words, 24 - 8 * kByte), 24));
  }

  static Ints SubtractBytes(Ints words, char n) {
    return _mm512_sub_epi8(words, _mm512_set1_epi8(n));
  }

  static Floats RoundBf16(Floats values) {
    const __m512i bits = _mm512_castps_si512(values);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    return _mm512_castsi512_ps(_mm512_and_si512(up, _mm512_set1_epi32(-0x10000)));
  }
};

}  // namespace
}  // namespace hearth::forms
