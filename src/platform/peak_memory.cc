#include "platform/peak_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "platform/control_group.h"

namespace hearth {

std::size_t PeakMemoryBytes() {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::size_t>(usage.ru_maxrss) * 1024 : 0;
}

std::size_t PhysicalMemoryBytes(const std::filesystem::path& root) {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    bytes = static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_bytes);
  }
  for (const std::filesystem::path& folder : ControlGroupFolders(root, "memory")) {
    // Version 2 says "max" when there is no limit, which reads as no number; version 1 a number that is never reached.
    for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
      std::size_t limit = 0;
      if (std::ifstream(folder / name) >> limit && limit > 0) {
        bytes = std::min(bytes, limit);
      }
    }
  }
  return bytes;
}

}  // namespace hearth
