#include "kernels/kernels.h"

#include <algorithm>
#include <string>

#include "contracts/error.h"

namespace hearth {

Kernels KernelsFor(Isa isa) {
  const std::vector<Isa> attainable = AttainableIsas();
  if (std::find(attainable.begin(), attainable.end(), isa) == attainable.end()) {
    throw Error(
        ErrorCode::kUnsupported,
        "kernels: " + std::string(IsaName(isa)) + " is not attained by this machine or build"
    );
  }
#ifndef HEARTH_PORTABLE_ONLY
  if (isa == Isa::kAvx512) {
    return {
        isa,
        avx512::QuantizeRows,
        avx512::MatmulQuantized,
        avx512::MatmulFloat,
        avx512::Attention,
        avx512::RmsNorm,
        avx512::SwiGlu,
    };
  }
#endif
  return {
      Isa::kPortable,
      portable::QuantizeRows,
      portable::MatmulQuantized,
      portable::MatmulFloat,
      portable::Attention,
      portable::RmsNorm,
      portable::SwiGlu,
  };
}

}  // namespace hearth
