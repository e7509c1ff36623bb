// The floating-point mode that kernels are defined in: denormal inputs read as zero, denormal results
// flushed to zero, rounding to nearest even.
#pragma once

#include <cstdint>

namespace hearth {

// Sets the mode on the current thread for its lifetime and restores what was there, so that parsers
// and foreign code never inherit it.
class FloatModeScope {
 public:
  FloatModeScope();
  ~FloatModeScope();
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

 private:
  std::uint32_t saved_;
};

}  // namespace hearth
