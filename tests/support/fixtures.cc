#include "support/fixtures.h"

#include <cstdlib>
#include <fstream>

#include "hearth/error.h"

namespace hearth {
namespace {

constexpr const char* kFixturesVariable = "HEARTH_FIXTURES_DIR";
constexpr const char* kConformanceVariable = "HEARTH_CONFORMANCE_DIR";

bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::filesystem::path Root(const char* variable, const char* built_in) {
  // ctest runs tests in build folders: a relative path is meant from the root, where `make test` is called.
  const char* folder = IsSet(variable) ? std::getenv(variable) : built_in;
  return std::filesystem::path(HEARTH_SOURCE_DIR) / folder;
}

}  // namespace

std::filesystem::path FixtureDir(std::string_view name) {
  return Root(kFixturesVariable, "tests/data") / name;
}

bool UsesBuiltInFixtures() {
  return !IsSet(kFixturesVariable);
}

std::filesystem::path ConformanceDir(std::string_view kind) {
  return Root(kConformanceVariable, "tests/data/conformance") / kind;
}

bool UsesBuiltInConformance() {
  return !IsSet(kConformanceVariable);
}

nlohmann::json LoadJson(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(ErrorCode::kNotFound, path.string() + ": cannot be opened");
  }
  try {
    return nlohmann::json::parse(file);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kCorruptData, path.string() + ": " + error.what());
  }
}

}  // namespace hearth
