#include "kernels/matmul_quantized.h"

#include "kernels/avx512/vector_internal.h"

namespace hearth::avx512vnni {
namespace {

using avx512::FirstLanes;

constexpr std::size_t kTileRows = 4;

// Four activation bytes of one row, for every output.
__m512i Broadcast4(const std::int8_t* bytes) {
  int word;
  __builtin_memcpy(&word, bytes, sizeof word);
  return _mm512_set1_epi32(word);
}

template <bool kHalf>
__m512 LoadScales(const std::byte* at) {
  if constexpr (kHalf) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  } else {
    return _mm512_loadu_ps(at);
  }
}

// The codes of a group, four inputs of every output in each vector.
template <std::size_t kBits, std::size_t kQuads>
void LoadCodes(const std::byte* packed, __m512i* codes) {
  if constexpr (kBits == 8) {
    for (std::size_t i = 0; i < kQuads; ++i) {
      codes[i] = _mm512_loadu_si512(packed + 64 * i);
    }
  } else {
    const __m512i nibble = _mm512_set1_epi8(0xf);
    for (std::size_t i = 0; i < kQuads / 2; ++i) {
      const __m512i both = _mm512_loadu_si512(packed + 64 * i);
      codes[i] = _mm512_and_si512(both, nibble);
      codes[i + kQuads / 2] = _mm512_and_si512(_mm512_srli_epi16(both, 4), nibble);
    }
  }
}

template <std::size_t kBits, std::size_t kGroup, bool kHalf, bool kMinima, std::size_t kRows>
void Tile(const MatmulQuantizedArgs& args, std::size_t panel, std::size_t first_row) {
  constexpr std::size_t kQuads = kGroup / 4;
  constexpr std::size_t kCodeBytes = kPanelOutputs * kGroup * kBits / 8;
  constexpr std::size_t kScaleBytes = kPanelOutputs * (kHalf ? 2 : 4);
  constexpr std::size_t kBytes = kCodeBytes + kScaleBytes * (kMinima ? 2 : 1);
  const std::size_t groups = args.weights.groups;
  const std::byte* packed = args.weights.data + panel * groups * kBytes;
  __m512 y[kRows];
  for (std::size_t row = 0; row < kRows; ++row) {
    y[row] = _mm512_setzero_ps();
  }
  for (std::size_t g = 0; g < groups; ++g, packed += kBytes) {
    __m512i codes[kQuads];
    LoadCodes<kBits, kQuads>(packed, codes);
    const __m512 scales = LoadScales<kHalf>(packed + kCodeBytes);
    for (std::size_t row = 0; row < kRows; ++row) {
      const std::size_t at = (first_row + row) * groups + g;
      const std::int8_t* high = args.rows.planes + at * 2 * kGroup;
      const std::int8_t* low = high + kGroup;
      // Two chains a plane: the sums are exact, so their order is free.
      __m512i high_sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
      __m512i low_sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
      if constexpr (!kMinima) {
        low_sum[0] = _mm512_set1_epi32(-args.weights.format.zero * args.rows.sum[at]);
      }
      for (std::size_t i = 0; i < kQuads; ++i) {
        high_sum[i % 2] = _mm512_dpbusd_epi32(high_sum[i % 2], codes[i], Broadcast4(high + 4 * i));
        low_sum[i % 2] = _mm512_dpbusd_epi32(low_sum[i % 2], codes[i], Broadcast4(low + 4 * i));
      }
      const __m512i highs = _mm512_slli_epi32(_mm512_add_epi32(high_sum[0], high_sum[1]), 8);
      const __m512i sums = _mm512_add_epi32(highs, _mm512_add_epi32(low_sum[0], low_sum[1]));
      const __m512 product =
          _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_set1_ps(args.rows.factor[at]));
      y[row] = _mm512_fmadd_ps(scales, product, y[row]);
      if constexpr (kMinima) {
        const __m512 minima = LoadScales<kHalf>(packed + kCodeBytes + kScaleBytes);
        y[row] = _mm512_fmadd_ps(minima, _mm512_set1_ps(args.rows.scaled_sum[at]), y[row]);
      }
    }
  }
  const __mmask16 outputs = FirstLanes(args.weights.outputs - panel * kPanelOutputs);
  for (std::size_t row = 0; row < kRows; ++row) {
    float* out = args.out + (first_row + row) * args.out_stride + panel * kPanelOutputs;
    if (args.add) {
      y[row] = _mm512_add_ps(_mm512_maskz_loadu_ps(outputs, out), y[row]);
    }
    _mm512_mask_storeu_ps(out, outputs, y[row]);
  }
}

template <std::size_t kBits, std::size_t kGroup, bool kHalf, bool kMinima>
void Panels(const MatmulQuantizedArgs& args) {
  for (std::size_t panel = args.first_panel; panel < args.last_panel; ++panel) {
    std::size_t row = 0;
    for (; row + kTileRows <= args.rows.rows; row += kTileRows) {
      Tile<kBits, kGroup, kHalf, kMinima, kTileRows>(args, panel, row);
    }
    switch (args.rows.rows - row) {
      case 3:
        Tile<kBits, kGroup, kHalf, kMinima, 3>(args, panel, row);
        break;
      case 2:
        Tile<kBits, kGroup, kHalf, kMinima, 2>(args, panel, row);
        break;
      case 1:
        Tile<kBits, kGroup, kHalf, kMinima, 1>(args, panel, row);
        break;
      default:
        break;
    }
  }
}

}  // namespace

void MatmulQuantized(const MatmulQuantizedArgs& args) {
  const PanelFormat& format = args.weights.format;
  if (format.bits == 4 && format.minima) {
    format.half_scales ? Panels<4, 32, true, true>(args) : Panels<4, 32, false, true>(args);
  } else if (format.bits == 4) {
    Panels<4, 32, true, false>(args);
  } else if (format.group == 32) {
    Panels<8, 32, true, false>(args);
  } else {
    Panels<8, 16, false, false>(args);
  }
}

}  // namespace hearth::avx512vnni
