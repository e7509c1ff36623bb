// Positions of the values above a threshold: the first step of every choice among a vocabulary, which leaves few.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

// How many entries past `count` SelectAbove may write.
inline constexpr std::size_t kSelectSlack = 16;

// Puts first + i into out for every x[i] > threshold, in ascending order, and returns how many there are.
// Shapes:  x [count], out [count + kSelectSlack]; what lies behind the returned number is unspecified.
// Threads: pure. Errors: none; a NaN is above nothing. Denormals count as the float mode says.
struct SelectAboveArgs {
  const float* x;
  std::size_t count;
  float threshold;
  std::uint32_t first;
  std::uint32_t* out;
};

namespace portable {
std::size_t SelectAbove(const SelectAboveArgs& args);
}

namespace avx2 {
std::size_t SelectAbove(const SelectAboveArgs& args);
}

namespace avx512 {
std::size_t SelectAbove(const SelectAboveArgs& args);
}

}  // namespace hearth
