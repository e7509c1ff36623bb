#include "kernels/elementwise.h"

#include <cmath>

namespace hearth::portable {

void RmsNorm(const RmsNormArgs& args) {
  float lanes[16] = {};
  for (std::size_t i = 0; i < args.width; ++i) {
    lanes[i % 16] += args.x[i] * args.x[i];
  }
  const float mean = FixedTreeSum(lanes) / static_cast<float>(args.width);
  const float inverse = 1.0f / std::sqrt(mean + args.epsilon) + mean * 0.0f;
  for (std::size_t i = 0; i < args.width; ++i) {
    args.out[i] = (args.x[i] * inverse) * args.weight[i];
  }
}

void SwiGlu(const SwiGluArgs& args) {
  for (std::size_t i = 0; i < args.width; ++i) {
    const float gate = args.gate[i];
    args.gate[i] = (gate / (1.0f + VectorExp(-gate))) * args.up[i];
  }
}

}  // namespace hearth::portable
