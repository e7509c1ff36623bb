#include "kernels/matmul_quantized.h"

#include "kernels/avx512/panel_simd_internal.h"
#include "kernels/panel_rows_internal.h"

namespace hearth::avx512vnni {
namespace {

struct Lanes : Avx512Lanes {
  // The sum over kQuads quads that starts with high and low.
  template <std::size_t kQuads>
  static Ints Sum(const Ints* codes, const std::int8_t* planes, Ints high, Ints low) {
    // Two chains a plane: the sums are exact, so their order is free.
    Ints high2 = Zero();
    Ints low2 = Zero();
    for (std::size_t i = 0; i < kQuads; i += 2) {
      high = _mm512_dpbusd_epi32(high, codes[i], Quad(planes, i));
      low = _mm512_dpbusd_epi32(low, codes[i], Quad(planes + kGroupInputs, i));
      high2 = _mm512_dpbusd_epi32(high2, codes[i + 1], Quad(planes, i + 1));
      low2 = _mm512_dpbusd_epi32(low2, codes[i + 1], Quad(planes + kGroupInputs, i + 1));
    }
    return AddInt(_mm512_slli_epi32(AddInt(high, high2), 4), AddInt(low, low2));
  }

  static Ints Sum4(const Ints* codes, const std::int8_t* planes, std::int32_t offset) {
    return Sum<8>(codes, planes, Zero(), SetInt(offset));
  }

  static Ints Sum6(const Ints* codes, const std::int8_t* planes, std::int32_t offset) {
    return Sum<4>(codes, planes, SetInt(offset), Zero());
  }

  static Ints Sum8(const Ints* codes, const std::int8_t* planes, std::int32_t offset) {
    return Sum<8>(codes, planes, SetInt(offset), Zero());
  }
};

}  // namespace

void MatmulQuantized(const MatmulQuantizedArgs& args) {
  RunPanelRows<Lanes>(args);
}

}  // namespace hearth::avx512vnni
