#include "support/test_assets.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "hearth/error.h"

namespace hearth {
namespace {

// The same order as the program and the tools.
std::filesystem::path CacheHome() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string home = variable("HEARTH_HOME"); !home.empty()) {
    return home;
  }
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) {
    return std::filesystem::path(cache) / "hearth";
  }
  return std::filesystem::path(variable("HOME")) / ".cache" / "hearth";
}

}  // namespace

std::optional<std::filesystem::path> FindTestAsset(const std::string& name) {
  const auto path = CacheHome() / "test-assets" / "llama-cpp-python-0.3.36" / name;
  return std::filesystem::is_regular_file(path) ? std::optional(path) : std::nullopt;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(ErrorCode::kNotFound, path.string() + ": cannot be opened");
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> JsonNames(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".json") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace hearth
