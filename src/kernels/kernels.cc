#include "kernels/kernels.h"

#include <algorithm>
#include <string>

#include "hearth/error.h"

namespace hearth {

Kernels KernelsFor(Isa isa) {
  const std::vector<Isa>& attainable = AttainableIsas();
  if (std::find(attainable.begin(), attainable.end(), isa) == attainable.end()) {
    throw Error(
        ErrorCode::kUnsupported,
        "kernels: " + std::string(IsaName(isa)) + " is not attained by this machine or build"
    );
  }
  // Each rung replaces what it does faster; the rest stays that of the rung below.
  Kernels kernels{
      isa,
      portable::QuantizeRows,
      portable::MatmulQuantized,
      portable::MatmulFloat,
      portable::RotateHead,
      portable::Attention,
      portable::JoinSegments,
      portable::RmsNorm,
      portable::SwiGlu,
  };
#if defined(__x86_64__) && !defined(HEARTH_PORTABLE_ONLY)
  if (isa >= Isa::kAvx2) {
    kernels.quantize_rows = avx2::QuantizeRows;
    kernels.matmul_quantized = avx2::MatmulQuantized;
    kernels.matmul_float = avx2::MatmulFloat;
    kernels.rotate_head = avx2::RotateHead;
    kernels.attention = avx2::Attention;
    kernels.join_segments = avx2::JoinSegments;
    kernels.rms_norm = avx2::RmsNorm;
    kernels.swiglu = avx2::SwiGlu;
  }
  if (isa >= Isa::kAvx512) {
    kernels.quantize_rows = avx512::QuantizeRows;
    kernels.matmul_quantized = avx512::MatmulQuantized;
    kernels.matmul_float = avx512::MatmulFloat;
    kernels.rotate_head = avx512::RotateHead;
    kernels.attention = avx512::Attention;
    kernels.join_segments = avx512::JoinSegments;
    kernels.rms_norm = avx512::RmsNorm;
    kernels.swiglu = avx512::SwiGlu;
  }
  if (isa >= Isa::kAvx512Vnni) {
    kernels.matmul_quantized = avx512vnni::MatmulQuantized;
  }
  if (isa >= Isa::kAmx) {
    kernels.matmul_quantized = amx::MatmulQuantized;
    kernels.attention = amx::Attention;
  }
#endif
  return kernels;
}

}  // namespace hearth
