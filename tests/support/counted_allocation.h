// Counts what operator new gives out. For tests of how much memory a thing takes; the program that links it gets it for
// every allocation of its own.
#pragma once

#include <cstddef>

namespace hearth {

// Bytes given out and not taken back, with what the allocator adds to each piece.
// Threads: safe.
std::size_t AllocatedBytes();

// The most that AllocatedBytes has been since the last RestartPeak.
std::size_t PeakAllocatedBytes();
void RestartPeak();

}  // namespace hearth
