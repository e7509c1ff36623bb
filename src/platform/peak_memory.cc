#include "platform/peak_memory.h"

#include <sys/resource.h>

namespace hearth {

std::size_t PeakMemoryBytes() {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::size_t>(usage.ru_maxrss) * 1024 : 0;
}

}  // namespace hearth
