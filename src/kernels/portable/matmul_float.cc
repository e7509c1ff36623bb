#include "kernels/matmul_float.h"

#include <algorithm>
#include <cmath>

#include "kernels/half.h"
#include "kernels/portable/load.h"

namespace hearth::portable {
namespace {

// One block of one panel as float32: [32 inputs, 16 outputs].
void WidenBlock(const FloatPanels& weights, std::size_t first, float* out) {
  for (std::size_t i = 0; i < kFloatBlock * kPanelOutputs; ++i) {
    switch (weights.storage) {
      case FloatStorage::kF32:
        out[i] = Load<float>(weights.data + 4 * (first + i));
        break;
      case FloatStorage::kF16:
        out[i] = HalfToFloat(Load<std::uint16_t>(weights.data + 2 * (first + i)));
        break;
      case FloatStorage::kBF16:
        out[i] = Bf16ToFloat(Load<std::uint16_t>(weights.data + 2 * (first + i)));
        break;
    }
  }
}

// y [16] += one block's product with x [32].
void AddBlock(const float* weights, const float* x, float* y) {
  float even[kPanelOutputs] = {};
  float odd[kPanelOutputs] = {};
  for (std::size_t k = 0; k < kFloatBlock; k += 2) {
    for (std::size_t output = 0; output < kPanelOutputs; ++output) {
      even[output] = std::fma(weights[k * kPanelOutputs + output], x[k], even[output]);
      odd[output] = std::fma(weights[(k + 1) * kPanelOutputs + output], x[k + 1], odd[output]);
    }
  }
  for (std::size_t output = 0; output < kPanelOutputs; ++output) {
    y[output] += even[output] + odd[output];
  }
}

}  // namespace

void MatmulFloat(const MatmulFloatArgs& args) {
  constexpr std::size_t kTileRows = 8;
  float block_weights[kFloatBlock * kPanelOutputs];
  for (std::size_t panel = args.first_panel; panel < args.last_panel; ++panel) {
    const std::size_t outputs =
        std::min(kPanelOutputs, args.weights.outputs - panel * kPanelOutputs);
    for (std::size_t first = 0; first < args.rows; first += kTileRows) {
      const std::size_t rows = std::min(kTileRows, args.rows - first);
      float y[kTileRows][kPanelOutputs] = {};
      for (std::size_t block = 0; block < args.weights.blocks; ++block) {
        const std::size_t index = panel * args.weights.blocks + block;
        WidenBlock(args.weights, index * kFloatBlock * kPanelOutputs, block_weights);
        for (std::size_t row = 0; row < rows; ++row) {
          const float* x = args.x + (first + row) * args.x_stride + block * kFloatBlock;
          AddBlock(block_weights, x, y[row]);
        }
      }
      for (std::size_t row = 0; row < rows; ++row) {
        float* out = args.out + (first + row) * args.out_stride + panel * kPanelOutputs;
        for (std::size_t output = 0; output < outputs; ++output) {
          out[output] = args.add ? out[output] + y[row][output] : y[row][output];
        }
      }
    }
  }
}

}  // namespace hearth::portable
