// `hearth info`: what a model file holds, without loading it.
#pragma once

#include <string>

namespace hearth {

// Prints the facts of the model that MODEL names, as text or JSON. Returns the exit code.
// Errors: those of FindModel and of the file formats.
int RunInfo(const std::string& model, bool json);

}  // namespace hearth
