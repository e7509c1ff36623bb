// The kernels of sampling for one instruction set, apart from the model's: who samples needs no matmul.
#pragma once

#include <cstddef>

#include "kernels/exp_estimate.h"
#include "kernels/exp_sums.h"
#include "kernels/row_peak.h"
#include "kernels/select_above.h"
#include "platform/cpu_features.h"

namespace hearth {

struct SamplingKernels {
  RowPeak (*find_row_peak)(const float* x, std::size_t count);
  std::size_t (*select_above)(const SelectAboveArgs&);
  void (*exp_terms)(const ExpSumsArgs&, double* terms);
  double (*exp_total)(const ExpSumsArgs&);
  void (*exp_block_sums)(const ExpSumsArgs&, double* sums);
  double (*exp_estimate)(const ExpEstimateArgs&);
};

// The table of `isa`. Errors: kUnsupported when this build or machine does not attain it.
SamplingKernels SamplingKernelsFor(Isa isa);

}  // namespace hearth
