#include "platform/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace hearth {
namespace {

namespace fs = std::filesystem;

// One hierarchy that is mounted.
struct Mount {
  bool version2;
  std::string controllers;  // version 1: "rw,cpu,cpuacct"
  fs::path top;             // the group that stands at the mount point
  fs::path point;
};

bool HasWord(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) {
      return true;
    }
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// mountinfo writes a space as \040 and so on.
std::string Unescaped(const std::string& text) {
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) &&
        octal(text[i + 3])) {
      const int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      out.push_back(static_cast<char>(code));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::vector<Mount> Mounts(const fs::path& root) {
  std::vector<Mount> mounts;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    // 36 35 98:0 /top /point rw,noatime optional... - cgroup source options
    std::istringstream words(line);
    std::string id, parent, device, top, point, word, type, source, options;
    words >> id >> parent >> device >> top >> point;
    while (words >> word && word != "-") {
    }
    if (words >> type >> source >> options && (type == "cgroup" || type == "cgroup2")) {
      mounts.push_back({type == "cgroup2", options, Unescaped(top), Unescaped(point)});
    }
  }
  return mounts;
}

// The process's group in a hierarchy, as /proc/self/cgroup has it: "4:cpu,cpuacct:/a/b", "0::/a/b". Empty: not there.
std::string GroupIn(const fs::path& root, const Mount& mount, std::string_view controller) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    if (mount.version2 ? controllers.empty() : HasWord(controllers, controller)) {
      return line.substr(second + 1);
    }
  }
  return {};
}

// The group as a path below the mount point; the mount point itself when it does not lie below.
fs::path BelowMount(const Mount& mount, const fs::path& group) {
  const fs::path below = group.lexically_relative(mount.top);
  const bool outside = below.empty() || std::find(below.begin(), below.end(), "..") != below.end();
  return outside || below == "." ? fs::path() : below;
}

}  // namespace

std::vector<fs::path> ControlGroupFolders(const fs::path& root, std::string_view controller) {
  std::vector<fs::path> folders;
  for (const Mount& mount : Mounts(root)) {
    if (!mount.version2 && !HasWord(mount.controllers, controller)) {
      continue;
    }
    const std::string group = GroupIn(root, mount, controller);
    if (group.empty()) {
      continue;
    }
    const fs::path point = root / mount.point.relative_path();
    for (fs::path below = BelowMount(mount, group); !below.empty(); below = below.parent_path()) {
      folders.push_back(point / below);
    }
    folders.push_back(point);
  }
  return folders;
}

}  // namespace hearth
