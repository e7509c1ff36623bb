// `hearth fit`: whether a model and a context fit into memory, from the head of the model's file.
#pragma once

#include <cstddef>
#include <optional>

#include "hearth/engine_options.h"

namespace hearth {

struct FitOptions {
  EngineOptions engine;
  std::optional<std::size_t>
      context;           // tokens of a request, prompt and answer; none is the model's own
  std::size_t rows = 1;  // requests of that length at once
  bool json = false;
};

// Prints what is wanted of which part, what there is, and the verdict, as a table or one JSON object; reads the head of the
// file and its vectors, not its matrices. Returns the exit code: 0 when it fits, 1 when not.
// Errors: those of FindModel, of the file and of the model family.
int RunFit(const FitOptions& options);

}  // namespace hearth
