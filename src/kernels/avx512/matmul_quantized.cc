#include "kernels/matmul_quantized.h"

#include "kernels/avx512/panel_simd_internal.h"
#include "kernels/panel_rows_internal.h"

namespace hearth::avx512 {
namespace {

// Byte products come as sums of two in 16 bits. With |high| <= 127 and |low| <= 8 these fit: 16 products of codes below 16
// with high bytes (30480), four of codes below 64 (32004), and any number used here with low bytes.
struct Lanes : Avx512Lanes {
  static Ints Pairs(Ints codes, const std::int8_t* planes, std::size_t quad) {
    return _mm512_maddubs_epi16(codes, Quad(planes, quad));
  }

  // weight * (the sum of both halves of every lane).
  static Ints Widen(Ints pairs, std::int16_t weight) {
    return _mm512_madd_epi16(pairs, _mm512_set1_epi16(weight));
  }

  static Ints Sum4(const Ints* codes, const std::int8_t* planes, std::int32_t offset) {
    Ints high = Zero();
    Ints low = Zero();
    for (std::size_t i = 0; i < 8; ++i) {
      high = _mm512_add_epi16(high, Pairs(codes[i], planes, i));
      low = _mm512_add_epi16(low, Pairs(codes[i], planes + kGroupInputs, i));
    }
    return AddInt(AddInt(SetInt(offset), Widen(high, 16)), Widen(low, 1));
  }

  static Ints Sum6(const Ints* codes, const std::int8_t* planes, std::int32_t offset) {
    const Ints first = _mm512_add_epi16(Pairs(codes[0], planes, 0), Pairs(codes[1], planes, 1));
    const Ints second = _mm512_add_epi16(Pairs(codes[2], planes, 2), Pairs(codes[3], planes, 3));
    Ints low = Zero();
    for (std::size_t i = 0; i < 4; ++i) {
      low = _mm512_add_epi16(low, Pairs(codes[i], planes + kGroupInputs, i));
    }
    const Ints high = AddInt(SetInt(16 * offset), AddInt(Widen(first, 16), Widen(second, 16)));
    return AddInt(high, Widen(low, 1));
  }

  // Codes of 8 bits are two of four: 16 times the upper half, plus the lower.
  static Ints Sum8(const Ints* codes, const std::int8_t* planes, std::int32_t offset) {
    Ints upper[8];
    Ints lower[8];
    for (std::size_t i = 0; i < 8; ++i) {
      upper[i] = High4(codes[i]);
      lower[i] = Low4(codes[i]);
    }
    const Ints upper_sum = Sum4(upper, planes, offset);
    return AddInt(_mm512_slli_epi32(upper_sum, 4), Sum4(lower, planes, 0));
  }
};

}  // namespace

void MatmulQuantized(const MatmulQuantizedArgs& args) {
  RunPanelRows<Lanes>(args);
}

}  // namespace hearth::avx512
