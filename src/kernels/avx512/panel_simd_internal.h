// The vector half of panel_rows_internal.h on AVX-512: everything but the sums, which depend on VNNI.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/avx512/vector_internal.h"

namespace hearth {
namespace {

struct Avx512Lanes {
  using Ints = __m512i;
  using Floats = __m512;

  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kRows = 4;

  static void Prefetch(const std::byte* packed) {
    // The panels of one thread are one long stream; a group is five lines.
    for (int line = 0; line < 5; ++line) {
      _mm_prefetch(reinterpret_cast<const char*>(packed) + 2048 + 64 * line, _MM_HINT_T0);
    }
  }

  static Ints Zero() { return _mm512_setzero_si512(); }

  static Ints SetInt(std::int32_t value) { return _mm512_set1_epi32(value); }

  static Floats Set(float value) { return _mm512_set1_ps(value); }

  static Ints Load(const std::byte* at) { return _mm512_loadu_si512(at); }

  static Ints Low4(Ints bytes) { return _mm512_and_si512(bytes, _mm512_set1_epi8(0xf)); }

  static Ints High4(Ints bytes) { return Low4(_mm512_srli_epi16(bytes, 4)); }

  template <int kIndex>
  static Ints TwoBits(Ints bytes) {
    constexpr int kShift = 4 - 2 * kIndex;
    if constexpr (kShift >= 0) {
      bytes = _mm512_slli_epi16(bytes, kShift);
    } else {
      bytes = _mm512_srli_epi16(bytes, -kShift);
    }
    return _mm512_and_si512(bytes, _mm512_set1_epi8(0x30));
  }

  static Ints Or(Ints a, Ints b) { return _mm512_or_si512(a, b); }

  static Ints FlipSign(Ints bytes) {
    return _mm512_xor_si512(bytes, _mm512_set1_epi8(static_cast<char>(0x80)));
  }

  static Ints AddInt(Ints a, Ints b) { return _mm512_add_epi32(a, b); }

  static Ints MulInt(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }

  static Floats ToFloat(Ints a) { return _mm512_cvtepi32_ps(a); }

  static Floats Mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }

  static Floats Fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }

  static Floats Negate(Floats a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }

  static Floats Halves(const std::byte* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }

  static Floats Bytes(const std::byte* at) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)))
    );
  }

  static Ints SignedBytes(const std::byte* at) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }

  static void Store(float* out, Floats y, std::size_t count, bool add) {
    const __mmask16 outputs = avx512::FirstLanes(count);
    if (add) {
      y = _mm512_add_ps(_mm512_maskz_loadu_ps(outputs, out), y);
    }
    _mm512_mask_storeu_ps(out, outputs, y);
  }

  // Four activation bytes of one row, for every output.
  static Ints Quad(const std::int8_t* planes, std::size_t quad) {
    int word;
    __builtin_memcpy(&word, planes + 4 * quad, sizeof word);
    return _mm512_set1_epi32(word);
  }
};

}  // namespace
}  // namespace hearth
