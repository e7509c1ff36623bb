// Where tests find their data. The data in the tree can be replaced from outside, so that the same tests
// run over another set of the same shape; counts of entries are then not known and not checked.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

namespace hearth {

// The folder of one set of fixtures: $HEARTH_FIXTURES_DIR/<name>, or tests/data/<name> of this tree.
// An empty variable counts as not set; a relative path is taken from the root of the tree.
// Never fails; whether the folder exists is the reader's question.
std::filesystem::path FixtureDir(std::string_view name);

// True when FixtureDir names the tree's own data, whose counts a test may assert.
bool UsesBuiltInFixtures();

// The folder of one kind of recorded conformance cases ("plan", "session", ...):
// $HEARTH_CONFORMANCE_DIR/<kind>, or tests/data/conformance/<kind> of this tree.
std::filesystem::path ConformanceDir(std::string_view kind);

// As UsesBuiltInFixtures, for ConformanceDir.
bool UsesBuiltInConformance();

// Reads one JSON document.
// Errors: Error(kNotFound) when the file cannot be opened, Error(kCorruptData) when it is not JSON;
//         both name the path.
nlohmann::json LoadJson(const std::filesystem::path& path);

}  // namespace hearth
