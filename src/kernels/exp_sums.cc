#include "kernels/exp_sums.h"

namespace hearth {

void SumEightBlocks(const double* terms, double* sums) {
  double s0 = 0;
  double s1 = 0;
  double s2 = 0;
  double s3 = 0;
  double s4 = 0;
  double s5 = 0;
  double s6 = 0;
  double s7 = 0;
  for (std::size_t i = 0; i < kExpBlock; ++i) {
    s0 += terms[i];
    s1 += terms[kExpStride + i];
    s2 += terms[2 * kExpStride + i];
    s3 += terms[3 * kExpStride + i];
    s4 += terms[4 * kExpStride + i];
    s5 += terms[5 * kExpStride + i];
    s6 += terms[6 * kExpStride + i];
    s7 += terms[7 * kExpStride + i];
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
  sums[4] = s4;
  sums[5] = s5;
  sums[6] = s6;
  sums[7] = s7;
}

}  // namespace hearth
