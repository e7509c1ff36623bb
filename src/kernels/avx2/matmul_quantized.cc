#include "kernels/matmul_quantized.h"

#include <immintrin.h>

#include "kernels/pair_sums_internal.h"
#include "kernels/panel_rows_internal.h"

namespace hearth::avx2 {
namespace {

struct Lanes {
  using Ints = __m256i;
  using Floats = __m256;

  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kRows = 4;

  static void Prefetch(const std::byte* packed) {
    for (int line = 0; line < 5; ++line) {
      _mm_prefetch(reinterpret_cast<const char*>(packed) + 2048 + 64 * line, _MM_HINT_T0);
    }
  }

  static Ints Zero() { return _mm256_setzero_si256(); }

  static Ints SetInt(std::int32_t value) { return _mm256_set1_epi32(value); }

  static Floats Set(float value) { return _mm256_set1_ps(value); }

  static Ints Load(const std::byte* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  }

  static Ints Low4(Ints bytes) { return _mm256_and_si256(bytes, _mm256_set1_epi8(0xf)); }

  static Ints High4(Ints bytes) { return Low4(_mm256_srli_epi16(bytes, 4)); }

  template <int kIndex>
  static Ints TwoBits(Ints bytes) {
    constexpr int kShift = 4 - 2 * kIndex;
    if constexpr (kShift >= 0) {
      bytes = _mm256_slli_epi16(bytes, kShift);
    } else {
      bytes = _mm256_srli_epi16(bytes, -kShift);
    }
    return _mm256_and_si256(bytes, _mm256_set1_epi8(0x30));
  }

  static Ints Or(Ints a, Ints b) { return _mm256_or_si256(a, b); }

  static Ints FlipSign(Ints bytes) {
    return _mm256_xor_si256(bytes, _mm256_set1_epi8(static_cast<char>(0x80)));
  }

  static Ints AddInt(Ints a, Ints b) { return _mm256_add_epi32(a, b); }

  static Ints MulInt(Ints a, Ints b) { return _mm256_mullo_epi32(a, b); }

  static Floats ToFloat(Ints a) { return _mm256_cvtepi32_ps(a); }

  static Floats Mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }

  static Floats Fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }

  static Floats Negate(Floats a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f)); }

  static Floats Halves(const std::byte* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }

  static __m128i EightBytes(const std::byte* at) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
  }

  static Floats Bytes(const std::byte* at) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(EightBytes(at)));
  }

  static Ints SignedBytes(const std::byte* at) { return _mm256_cvtepi8_epi32(EightBytes(at)); }

  static void Store(float* out, Floats y, std::size_t count, bool add) {
    const __m256i order = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i outputs = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), order);
    if (add) {
      y = _mm256_add_ps(_mm256_maskload_ps(out, outputs), y);
    }
    _mm256_maskstore_ps(out, outputs, y);
  }

  static Ints Pairs(Ints codes, const std::int8_t* planes, std::size_t quad) {
    int word;
    __builtin_memcpy(&word, planes + 4 * quad, sizeof word);
    return _mm256_maddubs_epi16(codes, _mm256_set1_epi32(word));
  }

  // weight * (the sum of both halves of every lane).
  static Ints Widen(Ints pairs, std::int16_t weight) {
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(weight));
  }

  static Ints AddPairs(Ints a, Ints b) { return _mm256_add_epi16(a, b); }

  static Ints Times16(Ints a) { return _mm256_slli_epi32(a, 4); }
};

}  // namespace

void MatmulQuantized(const MatmulQuantizedArgs& args) {
  RunPanelRows<PairSums<Lanes>>(args);
}

}  // namespace hearth::avx2
