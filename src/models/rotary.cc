#include "models/rotary.h"

#include "kernels/scalar_math.h"

namespace hearth {

Rotary::Rotary(double base, std::size_t dimensions, std::span<const float> factors) {
  for (std::size_t i = 0; i < dimensions / 2; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(dimensions);
    const double divisor = factors.empty() ? 1.0 : static_cast<double>(factors[i]);
    frequencies_.push_back(Pow(base, exponent) / divisor);
  }
}

void Rotary::Angles(std::size_t position, float* cosine, float* sine) const {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double angle = static_cast<double>(position) * frequencies_[i];
    cosine[i] = static_cast<float>(Cos(angle));
    sine[i] = static_cast<float>(Sin(angle));
  }
}

}  // namespace hearth
