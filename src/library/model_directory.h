// Where installed models lie and what their names are.
#pragma once

#include <filesystem>
#include <string>

namespace hearth {

// $HEARTH_HOME, else $XDG_CACHE_HOME/hearth, else ~/.cache/hearth. Errors: kNotFound when none is set.
std::filesystem::path HearthHome();

// The name that `make run` and an empty MODEL mean.
inline constexpr const char* kDefaultModel = "smollm2";

// The file that MODEL names: a path that exists, else NAME.gguf in the models folder of HearthHome, `smollm2`
// being the default model's short name.
// Errors: kNotFound saying where was looked.
std::filesystem::path FindModel(const std::string& model);

}  // namespace hearth
