#include "conformance/entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "contracts/aggregate_error.h"
#include "support/fixtures.h"

namespace hearth::conformance {
bool IsBuiltIn() {
  return UsesBuiltInConformance();
}

std::filesystem::path SuiteDirectory() {
  return ConformanceDir("").parent_path();
}

std::vector<std::filesystem::path> FilesOf(const std::string& part) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;  // an absent folder is reported by CheckFiles
  for (const auto& item : std::filesystem::directory_iterator(SuiteDirectory() / part, ignored)) {
    if (item.path().extension() == ".jsonl") {
      files.push_back(item.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string TestName(const std::filesystem::path& file) {
  std::string name = file.stem().string();
  std::replace_if(
      name.begin(),
      name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; },
      '_'
  );
  return name;
}

std::vector<Entry> ReadEntries(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::vector<Entry> entries;
  std::string line;
  while (std::getline(stream, line)) {
    const std::string number = std::to_string(entries.size() + 1);
    Json value = Json::parse(line, nullptr, false);
    if (!value.is_object()) {
      throw std::runtime_error(file.string() + ":" + number + ": not one JSON object");
    }
    std::string name = value.value("name", "line " + number);
    entries.push_back({std::move(name), std::move(value)});
  }
  if (!stream.eof() || entries.empty()) {
    throw std::runtime_error(file.string() + ": cannot be read or has no entries");
  }
  return entries;
}

void CheckFiles(const std::string& part, const std::map<std::string, std::size_t>& entries) {
  ASSERT_TRUE(std::filesystem::is_directory(SuiteDirectory()))
      << SuiteDirectory() << " is no directory";
  const std::vector<std::filesystem::path> files = FilesOf(part);
  if (!IsBuiltIn()) {
    if (files.empty()) {
      GTEST_SKIP() << "HEARTH_CONFORMANCE_DIR has no " << part << "/*.jsonl";
    }
    return;
  }
  std::map<std::string, std::size_t> found;
  for (const std::filesystem::path& file : files) {
    found[file.filename().string()] = ReadEntries(file).size();
  }
  EXPECT_EQ(found, entries) << "the built-in files of " << part << " are not complete";
}

Json ErrorJson(const std::exception_ptr& error) {
  Json json = {{"message", ErrorMessage(error)}};
  try {
    std::rethrow_exception(error);
  } catch (const AggregateError& aggregate) {
    Json& members = json["errors"] = Json::array();
    for (const std::exception_ptr& member : aggregate.errors()) {
      members.push_back(ErrorJson(member));
    }
    return json;
  } catch (...) {
    return json;
  }
}

std::string FirstDifference(
    const std::vector<std::string>& expected, const std::vector<std::string>& actual
) {
  if (expected == actual) {
    return "";
  }
  std::size_t i = 0;
  while (i < expected.size() && i < actual.size() && expected[i] == actual[i]) {
    ++i;
  }
  const auto line = [i](const std::vector<std::string>& lines) {
    return i < lines.size() ? "'" + lines[i] + "'" : std::string("the end");
  };
  return "line " + std::to_string(i + 1) + ": got " + line(actual) + ", wanted " + line(expected);
}

void Report::Fail(const std::string& entry, const std::string& why) {
  failures_.push_back(entry + ": " + why);
}

void Report::Except(const std::string& entry, const std::string& why) {
  exceptions_.push_back(entry + ": " + why);
}

void Report::Finish() const {
  const std::string name = (file_.parent_path().filename() / file_.filename()).string();
  std::string text = name + ": " + std::to_string(passed_) + " entries equal";
  for (const std::string& exception : exceptions_) {
    text += "\n  exception: " + exception;
  }
  std::printf("%s\n", text.c_str());
  std::string failures;
  for (const std::string& failure : failures_) {
    failures += "\n  " + failure;
  }
  EXPECT_TRUE(failures_.empty()) << name << ": " << failures_.size() << " entries differ"
                                 << failures;
}

void ReplayFile(
    const std::filesystem::path& file, const std::function<void(const Entry&, Report&)>& replay
) {
  Report report(file);
  for (const Entry& entry : ReadEntries(file)) {
    try {
      replay(entry, report);
    } catch (...) {
      report.Fail(entry.name, "threw " + DescribeError(std::current_exception()));
    }
  }
  report.Finish();
}

std::string MissingNeeds(const Json& entry, const std::set<std::string>& inexpressible) {
  std::string missing;
  for (const Json& need : entry.value("needs", Json::array())) {
    const auto& name = need.get_ref<const std::string&>();
    if (inexpressible.contains(name)) {
      missing += (missing.empty() ? "" : ", ") + name;
    }
  }
  return missing;
}

}  // namespace hearth::conformance
