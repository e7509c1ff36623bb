// The table of kernels of one instruction set: chosen once from the processor, passed down as a value.
#pragma once

#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/matmul_float.h"
#include "kernels/matmul_quantized.h"
#include "kernels/quantize_rows.h"
#include "platform/cpu_features.h"

namespace hearth {

struct Kernels {
  Isa isa;
  void (*quantize_rows)(const QuantizeRowsArgs&);
  void (*matmul_quantized)(const MatmulQuantizedArgs&);
  void (*matmul_float)(const MatmulFloatArgs&);
  void (*rotate_head)(const RotateHeadArgs&);
  void (*attention)(const AttentionArgs&);
  void (*join_segments)(const JoinSegmentsArgs&);
  void (*rms_norm)(const RmsNormArgs&);
  void (*swiglu)(const SwiGluArgs&);
};

// The table of `isa`. Errors: kUnsupported when this build or machine does not attain it.
Kernels KernelsFor(Isa isa);

}  // namespace hearth
