#include "kernels/matmul_float.h"

#include "kernels/avx512/vector_internal.h"

namespace hearth::avx512 {
namespace {

constexpr std::size_t kTileRows = 4;

template <FloatStorage kStorage>
__m512 LoadWeights(const std::byte* at) {
  if constexpr (kStorage == FloatStorage::kF32) {
    return _mm512_loadu_ps(at);
  } else {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    if constexpr (kStorage == FloatStorage::kF16) {
      return _mm512_cvtph_ps(bits);
    } else {
      return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
    }
  }
}

template <FloatStorage kStorage, std::size_t kRows>
void Tile(const MatmulFloatArgs& args, std::size_t panel, std::size_t first_row) {
  constexpr std::size_t kVectorBytes = kPanelOutputs * FloatBytes(kStorage);
  const std::byte* weights =
      args.weights.data + panel * args.weights.blocks * kFloatBlock * kVectorBytes;
  const float* x = args.x + first_row * args.x_stride;
  __m512 y[kRows];
  for (std::size_t row = 0; row < kRows; ++row) {
    y[row] = _mm512_setzero_ps();
  }
  for (std::size_t block = 0; block < args.weights.blocks; ++block) {
    __m512 even[kRows];
    __m512 odd[kRows];
    for (std::size_t row = 0; row < kRows; ++row) {
      even[row] = odd[row] = _mm512_setzero_ps();
    }
    for (std::size_t k = 0; k < kFloatBlock; k += 2) {
      const __m512 first = LoadWeights<kStorage>(weights);
      const __m512 second = LoadWeights<kStorage>(weights + kVectorBytes);
      weights += 2 * kVectorBytes;
      for (std::size_t row = 0; row < kRows; ++row) {
        const float* values = x + row * args.x_stride + block * kFloatBlock + k;
        even[row] = _mm512_fmadd_ps(first, _mm512_set1_ps(values[0]), even[row]);
        odd[row] = _mm512_fmadd_ps(second, _mm512_set1_ps(values[1]), odd[row]);
      }
    }
    for (std::size_t row = 0; row < kRows; ++row) {
      y[row] = _mm512_add_ps(y[row], _mm512_add_ps(even[row], odd[row]));
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

template <FloatStorage kStorage>
void Panels(const MatmulFloatArgs& args) {
  for (std::size_t panel = args.first_panel; panel < args.last_panel; ++panel) {
    std::size_t row = 0;
    for (; row + kTileRows <= args.rows; row += kTileRows) {
      Tile<kStorage, kTileRows>(args, panel, row);
    }
    for (; row < args.rows; ++row) {
      Tile<kStorage, 1>(args, panel, row);
    }
  }
}

}  // namespace

void MatmulFloat(const MatmulFloatArgs& args) {
  switch (args.weights.storage) {
    case FloatStorage::kF32:
      return Panels<FloatStorage::kF32>(args);
    case FloatStorage::kF16:
      return Panels<FloatStorage::kF16>(args);
    case FloatStorage::kBF16:
      return Panels<FloatStorage::kBF16>(args);
  }
}

}  // namespace hearth::avx512
