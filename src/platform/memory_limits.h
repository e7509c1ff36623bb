// What the system lets this process hold.
#pragma once

#include <cstddef>
#include <limits>

namespace hearth {

// Units: bytes; kNoMemoryLimit where the system sets none.
inline constexpr std::size_t kNoMemoryLimit = std::numeric_limits<std::size_t>::max();

struct MemoryLimits {
  std::size_t physical =
      kNoMemoryLimit;  // the machine's, limited by control groups (PhysicalMemoryBytes)
  std::size_t data = kNoMemoryLimit;  // RLIMIT_DATA: what is written to; maps of files do not count
  std::size_t address_space = kNoMemoryLimit;  // RLIMIT_AS: all of it, maps of files among it
  std::size_t thread_stack =
      0;  // what each thread's stack takes of the last two, whether touched or not
};

// Errors: none; what the system does not say limits nothing.
MemoryLimits ReadMemoryLimits();

}  // namespace hearth
