// The named numeric options: the only settings, besides the model itself, that may change a logit.
#pragma once

#include <string_view>

namespace hearth {

enum class Numerics {
  kDefault,  // quantized products on 12-bit activations, bfloat16 keys and values (docs/numerics.md)
  kF32,      // the reference lever: float32 weights, activations, keys and values
};

constexpr std::string_view NumericsName(Numerics numerics) {
  return numerics == Numerics::kF32 ? "f32" : "default";
}

}  // namespace hearth
