// Files that some tests read and the tree does not hold: vocabularies and chat templates of published models, put into
// the user's cache by tools/fetch_test_assets.py.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// What to do about a missing file, for the reason of a skipped test.
inline constexpr std::string_view kFetchTestAssets =
    "run tools/fetch_test_assets.py (make test does it) to get the published file";

// The file of this name in the assets, for example "templates/x.jinja"; nullopt when it is not there.
std::optional<std::filesystem::path> FindTestAsset(const std::string& name);

// Errors: Error(kNotFound) when the file cannot be opened.
std::string ReadFile(const std::filesystem::path& path);

// The names (without the ending) of the .json files in a folder, sorted; empty when there is no such folder.
std::vector<std::string> JsonNames(const std::filesystem::path& folder);

}  // namespace hearth
