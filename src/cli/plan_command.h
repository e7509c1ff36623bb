// `hearth plan`: what a request would use, and why not more.
#pragma once

#include <filesystem>

namespace hearth {

// Prints the plan for the inputs in a JSON file (the form: ReadPlanInputs in engine/plan_document.h), as lines or as one
// JSON object. Returns the exit code.
// Errors: those of FileMap and ReadPlanInputs.
int RunPlanCommand(const std::filesystem::path& file, bool json_output);

}  // namespace hearth
