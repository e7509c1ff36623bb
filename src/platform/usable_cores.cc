#include "platform/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <set>
#include <string>

#include "platform/control_group.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// Linux is built for at most 8192 processors.
constexpr int kMostProcessors = 1 << 13;

std::vector<int> AllowedProcessors() {
  std::vector<int> allowed;
  cpu_set_t* set = CPU_ALLOC(kMostProcessors);
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostProcessors);
  if (set != nullptr && sched_getaffinity(0, bytes, set) == 0) {
    for (int cpu = 0; cpu < kMostProcessors; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) {
        allowed.push_back(cpu);
      }
    }
  }
  CPU_FREE(set);
  return allowed;
}

// Processors that share a core are told apart by the lowest of them, with which each one's list of siblings begins.
std::size_t CoresOf(const fs::path& root, const std::vector<int>& allowed) {
  std::set<int> cores;
  for (const int cpu : allowed) {
    std::ifstream file(
        root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) /
        "topology/thread_siblings_list"
    );
    int lowest = 0;
    cores.insert(file >> lowest && lowest >= 0 ? lowest : cpu);
  }
  return cores.size();
}

// The quota that stands in one control group's folder, in cores; infinite when there is none.
double QuotaOf(const fs::path& folder) {
  double quota = 0;
  double period = 0;
  std::ifstream both(
      folder / "cpu.max"
  );  // version 2: "150000 100000", or "max 100000", which reads as no number
  if (!(both >> quota >> period)) {
    std::ifstream(folder / "cpu.cfs_quota_us") >> quota;  // version 1: -1 for none
    std::ifstream(folder / "cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : std::numeric_limits<double>::infinity();
}

}  // namespace

int UsableCores(const fs::path& root, const std::vector<int>& allowed) {
  double cores = static_cast<double>(CoresOf(root, allowed));
  for (const fs::path& folder : ControlGroupFolders(root, "cpu")) {
    cores = std::min(cores, QuotaOf(folder));
  }
  const int whole = static_cast<int>(cores);
  return std::max(1, static_cast<double>(whole) < cores ? whole + 1 : whole);
}

int UsableCores() {
  return UsableCores("/", AllowedProcessors());
}

}  // namespace hearth
