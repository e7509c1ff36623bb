// The floating-point modes of a thread. Both round to nearest even; they differ in what a denormal number is.
#pragma once

#include <cstdint>

namespace hearth {

enum class FloatMode {
  kKernels,  // denormal inputs read as zero, denormal results flushed to zero: what the model's kernels are defined in
  kIeee,     // denormals are numbers: what sampling is defined in, whichever thread it runs on
};

// Sets the mode on the current thread for its lifetime and restores what was there, so that parsers
// and foreign code never inherit it.
class FloatModeScope {
 public:
  explicit FloatModeScope(FloatMode mode = FloatMode::kKernels);
  ~FloatModeScope();
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

 private:
  std::uint32_t saved_;
};

}  // namespace hearth
