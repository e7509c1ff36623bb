#include "kernels/sampling_kernels.h"

#include <algorithm>
#include <string>
#include <vector>

#include "hearth/error.h"

namespace hearth {

SamplingKernels SamplingKernelsFor(Isa isa) {
  const std::vector<Isa>& attainable = AttainableIsas();
  if (std::find(attainable.begin(), attainable.end(), isa) == attainable.end()) {
    throw Error(
        ErrorCode::kUnsupported,
        "kernels: " + std::string(IsaName(isa)) + " is not attained by this machine or build"
    );
  }
#if defined(__x86_64__) && !defined(HEARTH_PORTABLE_ONLY)
  if (isa >= Isa::kAvx512) {
    return {
        avx512::FindRowPeak,
        avx512::SelectAbove,
        avx512::ExpTerms,
        avx512::ExpTotal,
        avx512::ExpBlockSums,
        avx512::ExpEstimate,
    };
  }
  if (isa >= Isa::kAvx2) {
    return {
        avx2::FindRowPeak,
        avx2::SelectAbove,
        avx2::ExpTerms,
        avx2::ExpTotal,
        avx2::ExpBlockSums,
        avx2::ExpEstimate,
    };
  }
#endif
  return {
      portable::FindRowPeak,
      portable::SelectAbove,
      portable::ExpTerms,
      portable::ExpTotal,
      portable::ExpBlockSums,
      portable::ExpEstimate,
  };
}

}  // namespace hearth
