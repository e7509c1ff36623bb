// How much memory this process has held at most, and how much there is.
#pragma once

#include <cstddef>
#include <filesystem>

namespace hearth {

// The largest resident size so far, file pages among it; 0 when the system does not say.
std::size_t PeakMemoryBytes();

// The machine's memory, limited by every control group around this process; a very large number when the system does
// not say. `root` is where the system's files lie, for tests.
std::size_t PhysicalMemoryBytes(const std::filesystem::path& root = "/");

}  // namespace hearth
