// What another process of this machine costs, as /proc tells it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace hearth::bench {

// Bytes. Errors: std::runtime_error when there is no such process.
std::size_t ResidentBytes(pid_t pid);

// Seconds of user and system time together since its start. Resolution: a clock tick, mostly 10 ms.
double CpuSeconds(pid_t pid);

// Runs a program to its end, its output dropped. Errors: std::runtime_error when it fails.
double CpuSecondsOfRun(const std::vector<std::string>& command);

}  // namespace hearth::bench
