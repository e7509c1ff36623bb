// Angles of rotary position embeddings.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hearth {

// Frequencies of a model and the cosines and sines of positions.
// The angle of pair i at position p is p * base^(-2i / dimensions) / factor[i]; it is computed in double by
// kernels/scalar_math.h and rounded once.
class Rotary {
 public:
  // factors: [dimensions / 2] divisors of the frequencies, or empty for none.
  Rotary(double base, std::size_t dimensions, std::span<const float> factors);

  std::size_t pairs() const { return frequencies_.size(); }

  // Writes cos and sin of all pairs at `position`. Shapes: cosine, sine [pairs].
  void Angles(std::size_t position, float* cosine, float* sine) const;

 private:
  std::vector<double> frequencies_;
};

}  // namespace hearth
