#include "kernels/matmul_float.h"

#include <algorithm>
#include <cmath>

#include "kernels/half.h"
#include "kernels/portable/load.h"

namespace hearth::portable {
namespace {

float LoadWeight(const std::byte* weights, FloatStorage storage, std::size_t index) {
  switch (storage) {
    case FloatStorage::kF32:
      return Load<float>(weights + 4 * index);
    case FloatStorage::kF16:
      return HalfToFloat(Load<std::uint16_t>(weights + 2 * index));
    case FloatStorage::kBF16:
      return Bf16ToFloat(Load<std::uint16_t>(weights + 2 * index));
  }
  return 0.0f;
}

}  // namespace

void MatmulFloat(const MatmulFloatArgs& args) {
  const std::size_t block_values = kFloatBlock * kPanelOutputs;
  for (std::size_t panel = args.first_panel; panel < args.last_panel; ++panel) {
    const std::size_t outputs =
        std::min(kPanelOutputs, args.weights.outputs - panel * kPanelOutputs);
    for (std::size_t row = 0; row < args.rows; ++row) {
      const float* x = args.x + row * args.x_stride;
      float y[kPanelOutputs] = {};
      for (std::size_t block = 0; block < args.weights.blocks; ++block) {
        const std::size_t first = (panel * args.weights.blocks + block) * block_values;
        for (std::size_t output = 0; output < outputs; ++output) {
          float chain[2] = {};
          for (std::size_t k = 0; k < kFloatBlock; ++k) {
            const std::size_t index = first + k * kPanelOutputs + output;
            const float weight = LoadWeight(args.weights.data, args.weights.storage, index);
            chain[k % 2] = std::fma(weight, x[block * kFloatBlock + k], chain[k % 2]);
          }
          y[output] += chain[0] + chain[1];
        }
      }
      float* out = args.out + row * args.out_stride + panel * kPanelOutputs;
      for (std::size_t output = 0; output < outputs; ++output) {
        out[output] = args.add ? out[output] + y[output] : y[output];
      }
    }
  }
}

}  // namespace hearth::portable
