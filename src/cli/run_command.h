// `hearth run`: one answer, or a chat on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "hearth/engine_options.h"
#include "hearth/sampling_parameters.h"

namespace hearth {

struct RunOptions {
  EngineOptions engine;
  std::optional<std::string> prompt;  // none: standard input, or a chat when that is a terminal
  std::string system;                 // system message; empty for none
  std::size_t max_tokens = 512;       // of one answer
  std::size_t prefill_chunk = 512;    // prompt tokens of one forward
  SamplingParameters sampling;
  bool raw = false;    // the prompt goes to the model as it is, without the chat template
  bool json = false;   // one JSON object instead of the streamed text
  bool stats = false;  // a line of timings on standard error
};

// Streams the answer to standard output. Returns the exit code: 0, or 130 when Ctrl-C ended a single answer.
// Errors: those of Engine, of the template and of the prompt's length, one line each.
int RunRun(const RunOptions& options);

}  // namespace hearth
