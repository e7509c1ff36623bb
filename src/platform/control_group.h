// Which control groups of Linux bind this process: where its limits of processor time and memory are written.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace hearth {

// The folders that hold the limits of `controller` ("cpu", "memory") for this process: its own group's first, then each
// group around it as far as the mount shows them; a limit of any of them binds. Those of version 2 and of version 1
// both, since a machine may have both; empty when there are none.
// `root` is "/", but for tests with a tree of their own, which holds proc/self/cgroup, proc/self/mountinfo and the mounts.
// Errors: none; what cannot be read is passed over.
// Source: cgroups(7) and proc_pid_mountinfo(5) of the Linux manual pages.
std::vector<std::filesystem::path> ControlGroupFolders(
    const std::filesystem::path& root, std::string_view controller
);

}  // namespace hearth
