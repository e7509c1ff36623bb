// How much memory this process has held at most.
#pragma once

#include <cstddef>

namespace hearth {

// The largest resident size so far, file pages among it; 0 when the system does not say.
std::size_t PeakMemoryBytes();

}  // namespace hearth
