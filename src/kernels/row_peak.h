// The largest value of a row and where it stands: greedy sampling, and the shift of every softmax over a vocabulary.
#pragma once

#include <cstddef>

namespace hearth {

struct RowPeak {
  float value;        // as it stands in the row
  std::size_t index;  // the lowest one that holds it; equal zeros of both signs are the same value
  bool ordered;       // false when the row holds a NaN or +inf; then value and index mean nothing
};

// Shapes:  x [count].
// Threads: pure. Errors: none; an empty row gives -inf at 0, as one of nothing but -inf does.
// Denormals count as the float mode says.
namespace portable {
RowPeak FindRowPeak(const float* x, std::size_t count);
}

namespace avx2 {
RowPeak FindRowPeak(const float* x, std::size_t count);
}

namespace avx512 {
RowPeak FindRowPeak(const float* x, std::size_t count);
}

}  // namespace hearth
