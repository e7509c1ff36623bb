#include "kernels/select_above.h"

namespace hearth::portable {

std::size_t SelectAbove(const SelectAboveArgs& args) {
  constexpr std::size_t kStretch = 64;
  std::size_t found = 0;
  std::size_t i = 0;
  // Most stretches hold nothing: one look, which the compiler can do with vectors, passes them over.
  for (; i + kStretch <= args.count; i += kStretch) {
    unsigned any = 0;
    for (std::size_t j = 0; j < kStretch; ++j) {
      any |= args.x[i + j] > args.threshold ? 1u : 0u;
    }
    for (std::size_t j = 0; any != 0 && j < kStretch; ++j) {
      args.out[found] = args.first + static_cast<std::uint32_t>(i + j);
      found += args.x[i + j] > args.threshold ? 1 : 0;
    }
  }
  for (; i < args.count; ++i) {
    if (args.x[i] > args.threshold) {
      args.out[found++] = args.first + static_cast<std::uint32_t>(i);
    }
  }
  return found;
}

}  // namespace hearth::portable
