// The flags of `hearth serve` besides those of every command with a model.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/serve_command.h"

namespace hearth {

void AddServeFlags(CLI::App& command, ServeOptions& options);

}  // namespace hearth
