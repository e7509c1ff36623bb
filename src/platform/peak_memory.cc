#include "platform/peak_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace hearth {

std::size_t PeakMemoryBytes() {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::size_t>(usage.ru_maxrss) * 1024 : 0;
}

std::size_t PhysicalMemoryBytes() {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    bytes = static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_bytes);
  }
  // Control group version 2 says "max" when there is no limit, which reads as no number.
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::size_t limit = 0;
  return file >> limit && limit > 0 ? std::min(bytes, limit) : bytes;
}

}  // namespace hearth
