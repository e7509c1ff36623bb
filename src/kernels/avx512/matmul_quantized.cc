#include "kernels/matmul_quantized.h"

#include "kernels/avx512/panel_simd_internal.h"
#include "kernels/pair_sums_internal.h"
#include "kernels/panel_rows_internal.h"

namespace hearth::avx512 {
namespace {

struct Lanes : Avx512Lanes {
  static Ints Pairs(Ints codes, const std::int8_t* planes, std::size_t quad) {
    return _mm512_maddubs_epi16(codes, Quad(planes, quad));
  }

  // weight * (the sum of both halves of every lane).
  static Ints Widen(Ints pairs, std::int16_t weight) {
    return _mm512_madd_epi16(pairs, _mm512_set1_epi16(weight));
  }

  static Ints AddPairs(Ints a, Ints b) { return _mm512_add_epi16(a, b); }

  static Ints Times16(Ints a) { return _mm512_slli_epi32(a, 4); }
};

}  // namespace

void MatmulQuantized(const MatmulQuantizedArgs& args) {
  RunPanelRows<PairSums<Lanes>>(args);
}

}  // namespace hearth::avx512
