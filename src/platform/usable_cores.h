// How many threads of arithmetic this process should run.
#pragma once

#include <filesystem>
#include <vector>

namespace hearth {

// Physical cores that this process may use: those of its affinity mask (two threads of one core count once: arithmetic
// keeps a core busy with one), limited by the quota of every control group around it, versions 1 and 2, a part of a
// core rounded up. At least 1.
int UsableCores();

// The same on a made-up machine, for tests: `root` stands for "/" and holds proc/self, sys/devices/system/cpu and what
// is mounted; `allowed` are the processors of the mask. What cannot be read limits nothing; a processor whose siblings
// are not known is a core.
int UsableCores(const std::filesystem::path& root, const std::vector<int>& allowed);

}  // namespace hearth
