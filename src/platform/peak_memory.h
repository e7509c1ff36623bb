// How much memory this process has held at most, and how much there is.
#pragma once

#include <cstddef>

namespace hearth {

// The largest resident size so far, file pages among it; 0 when the system does not say.
std::size_t PeakMemoryBytes();

// The machine's memory, limited by the control group; a very large number when the system does not say.
std::size_t PhysicalMemoryBytes();

}  // namespace hearth
