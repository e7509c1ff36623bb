// One test for each file of a folder, registered while the program starts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace hearth {

using NamedCheck = void (*)(const std::string& name);

class NamedTest : public testing::Test {
 public:
  NamedTest(std::string name, NamedCheck check) : name_(std::move(name)), check_(check) {}

  void TestBody() override { check_(name_); }

 private:
  std::string name_;
  NamedCheck check_;
};

// Registers "<suite>.<name>" for each name, which runs check(name). Characters that cannot stand in the name of a test
// become '_'. Without any name there is one test, "<suite>.fixtures", and it fails. Returns the number of names.
inline std::size_t RegisterNamedTests(
    const char* suite, const std::vector<std::string>& names, NamedCheck check
) {
  const auto add = [suite](const std::string& test, const std::string& name, NamedCheck run) {
    testing::RegisterTest(
        suite, test.c_str(), nullptr, nullptr, __FILE__, __LINE__, [=]() -> testing::Test* {
          return new NamedTest(name, run);
        }
    );
  };
  for (const std::string& name : names) {
    std::string test = name;
    std::ranges::replace_if(
        test, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_'
    );
    add(test, name, check);
  }
  if (names.empty()) {
    add("fixtures", "", [](const std::string&) { FAIL() << "there are no fixtures"; });
  }
  return names.size();
}

}  // namespace hearth
