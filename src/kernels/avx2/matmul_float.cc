#include "kernels/matmul_float.h"

#include "kernels/avx2/vector_internal.h"

namespace hearth::avx2 {
namespace {

constexpr std::size_t kTileRows = 4;
constexpr std::size_t kLanes = 8;  // outputs of one pass, half a panel

template <FloatStorage kStorage>
__m256 LoadWeights(const std::byte* at) {
  const void* from = at;
  if constexpr (kStorage == FloatStorage::kF32) {
    return _mm256_loadu_ps(static_cast<const float*>(from));
  } else {
    const __m128i bits = _mm_loadu_si128(static_cast<const __m128i*>(from));
    if constexpr (kStorage == FloatStorage::kF16) {
      return _mm256_cvtph_ps(bits);
    } else {
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
    }
  }
}

// Half `half` of a panel's outputs against kRows rows.
template <FloatStorage kStorage, std::size_t kRows>
void Tile(const MatmulFloatArgs& args, std::size_t panel, std::size_t half, std::size_t first_row) {
  constexpr std::size_t kVectorBytes = kPanelOutputs * FloatBytes(kStorage);
  const std::byte* weights = args.weights.data +
                             panel * args.weights.blocks * kFloatBlock * kVectorBytes +
                             half * kLanes * FloatBytes(kStorage);
  const float* x = args.x + first_row * args.x_stride;
  __m256 y[kRows];
  for (std::size_t row = 0; row < kRows; ++row) {
    y[row] = _mm256_setzero_ps();
  }
  for (std::size_t block = 0; block < args.weights.blocks; ++block) {
    __m256 even[kRows];
    __m256 odd[kRows];
    for (std::size_t row = 0; row < kRows; ++row) {
      even[row] = odd[row] = _mm256_setzero_ps();
    }
    for (std::size_t k = 0; k < kFloatBlock; k += 2) {
      const __m256 first = LoadWeights<kStorage>(weights);
      const __m256 second = LoadWeights<kStorage>(weights + kVectorBytes);
      weights += 2 * kVectorBytes;
      for (std::size_t row = 0; row < kRows; ++row) {
        const float* values = x + row * args.x_stride + block * kFloatBlock + k;
        even[row] = _mm256_fmadd_ps(first, _mm256_broadcast_ss(values), even[row]);
        odd[row] = _mm256_fmadd_ps(second, _mm256_broadcast_ss(values + 1), odd[row]);
      }
    }
    for (std::size_t row = 0; row < kRows; ++row) {
      y[row] = _mm256_add_ps(y[row], _mm256_add_ps(even[row], odd[row]));
    }
  }
  const std::size_t at = panel * kPanelOutputs + half * kLanes;
  const __m256i outputs = FirstLanes(args.weights.outputs - at);
  for (std::size_t row = 0; row < kRows; ++row) {
    float* out = args.out + (first_row + row) * args.out_stride + at;
    if (args.add) {
      y[row] = _mm256_add_ps(_mm256_maskload_ps(out, outputs), y[row]);
    }
    _mm256_maskstore_ps(out, outputs, y[row]);
  }
}

template <FloatStorage kStorage>
void Panels(const MatmulFloatArgs& args) {
  for (std::size_t panel = args.first_panel; panel < args.last_panel; ++panel) {
    for (std::size_t half = 0; half < 2; ++half) {
      if (panel * kPanelOutputs + half * kLanes >= args.weights.outputs) {
        break;
      }
      std::size_t row = 0;
      for (; row + kTileRows <= args.rows; row += kTileRows) {
        Tile<kStorage, kTileRows>(args, panel, half, row);
      }
      for (; row < args.rows; ++row) {
        Tile<kStorage, 1>(args, panel, half, row);
      }
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

}  // namespace hearth::avx2
