#include "support/fixtures.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "hearth/error.h"

namespace hearth {
namespace {

// Puts an environment variable back as it was.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      old_ = old;
    }
    if (value != nullptr) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
  }

  ~ScopedVariable() {
    if (old_) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

std::filesystem::path WriteTemporary(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(::testing::TempDir()) / (std::to_string(getpid()) + name);
  std::ofstream(path) << text;
  return path;
}

TEST(Fixtures, LieInTheTreeUnlessTheEnvironmentSaysOtherwise) {
  const ScopedVariable unset("HEARTH_FIXTURES_DIR", nullptr);
  EXPECT_EQ(FixtureDir("dequant"), std::filesystem::path(HEARTH_SOURCE_DIR) / "tests/data/dequant");
  EXPECT_TRUE(UsesBuiltInFixtures());
}

TEST(Fixtures, ARelativeFolderIsTakenFromTheRoot) {
  const ScopedVariable set("HEARTH_CONFORMANCE_DIR", "../other");
  EXPECT_EQ(ConformanceDir("plan"), std::filesystem::path(HEARTH_SOURCE_DIR) / "../other/plan");
}

TEST(Fixtures, FollowTheEnvironment) {
  const ScopedVariable set("HEARTH_FIXTURES_DIR", "/elsewhere");
  EXPECT_EQ(FixtureDir("dequant"), "/elsewhere/dequant");
  EXPECT_FALSE(UsesBuiltInFixtures());
}

TEST(Fixtures, AnEmptyVariableIsNotSet) {
  const ScopedVariable set("HEARTH_FIXTURES_DIR", "");
  EXPECT_TRUE(UsesBuiltInFixtures());
}

TEST(Fixtures, ConformanceHasItsOwnVariable) {
  const ScopedVariable fixtures("HEARTH_FIXTURES_DIR", "/elsewhere");
  {
    const ScopedVariable unset("HEARTH_CONFORMANCE_DIR", nullptr);
    EXPECT_EQ(
        ConformanceDir("plan"),
        std::filesystem::path(HEARTH_SOURCE_DIR) / "tests/data/conformance/plan"
    );
    EXPECT_TRUE(UsesBuiltInConformance());
  }
  const ScopedVariable set("HEARTH_CONFORMANCE_DIR", "/cases");
  EXPECT_EQ(ConformanceDir("plan"), "/cases/plan");
  EXPECT_FALSE(UsesBuiltInConformance());
}

TEST(LoadJson, ReadsADocument) {
  EXPECT_EQ(LoadJson(WriteTemporary("good.json", R"({"a": [1, 2]})"))["a"][1], 2);
}

TEST(LoadJson, NamesTheFileThatIsMissingOrBroken) {
  try {
    LoadJson("/no/such/file.json");
    FAIL() << "a missing file was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_NE(std::string(error.what()).find("/no/such/file.json"), std::string::npos);
  }
  const auto path = WriteTemporary("broken.json", "{\"a\": ");
  try {
    LoadJson(path);
    FAIL() << "a broken file was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorruptData);
    EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos);
  }
}

}  // namespace
}  // namespace hearth
