// What the runners of the conformance suite share: where the suite lies, its entries, and how errors and traces are
// compared. A runner (one a part: plan, resources, scheduler, session) replays each *.jsonl file of its part as one
// test and reports every entry that differs by name.
//
// HEARTH_CONFORMANCE_DIR replaces the built-in copy (tests/data/conformance): every *.jsonl file of a part that is
// found there is replayed, whatever its name; numbers of entries are checked for the built-in copy only.
#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace hearth::conformance {

using Json = nlohmann::json;

// The root of the suite, with one folder a part.
std::filesystem::path SuiteDirectory();

// False when HEARTH_CONFORMANCE_DIR replaces the suite.
bool IsBuiltIn();

// The *.jsonl files of a part, sorted; empty when the part is absent. Never throws: gtest asks before main.
std::vector<std::filesystem::path> FilesOf(const std::string& part);

// A test name of a file: its stem, with what gtest does not allow as '_'.
std::string TestName(const std::filesystem::path& file);

// One line of a file.
struct Entry {
  std::string name;  // its "name", else "line <n>"
  Json value;
};

// Errors: std::runtime_error "<file>:<line>: ..." for a line that is not one JSON object, or a file with none.
std::vector<Entry> ReadEntries(const std::filesystem::path& file);

// Checks that the part has files; for the built-in copy also that they are exactly these, with these numbers of
// entries. Skips the current test when a replaced suite lacks the part.
void CheckFiles(const std::string& part, const std::map<std::string, std::size_t>& entries);

// {"message": m} or {"message": m, "errors": [...]}, as the suite writes errors.
Json ErrorJson(const std::exception_ptr& error);

// Empty when equal; else the first line that differs, with its number and both texts.
std::string FirstDifference(
    const std::vector<std::string>& expected, const std::vector<std::string>& actual
);

// The outcome of one file: collects failures and exceptions while a runner goes through the entries.
class Report {
 public:
  explicit Report(std::filesystem::path file) : file_(std::move(file)) {}

  void Pass() { ++passed_; }

  void Fail(const std::string& entry, const std::string& why);

  // An entry that was not compared in full, and why: listed in the output, never silently left out.
  void Except(const std::string& entry, const std::string& why);

  // Prints the exceptions and turns failures into one gtest failure that names every failing entry.
  void Finish() const;

 private:
  std::filesystem::path file_;
  std::size_t passed_ = 0;
  std::vector<std::string> failures_;
  std::vector<std::string> exceptions_;
};

// Replays every entry of a file; an entry whose replay throws has failed.
void ReplayFile(
    const std::filesystem::path& file, const std::function<void(const Entry&, Report&)>& replay
);

// The entry's "needs" that `inexpressible` contains, joined by ", "; empty when the entry can be replayed.
std::string MissingNeeds(const Json& entry, const std::set<std::string>& inexpressible);

}  // namespace hearth::conformance
