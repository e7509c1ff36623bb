// `hearth bench`: tokens per second of prefill and decode, beside the machine's read speed.
#pragma once

#include <cstddef>
#include <vector>

#include "hearth/engine_options.h"

namespace hearth {

struct BenchOptions {
  EngineOptions engine;
  std::size_t prompt = 512;                 // tokens of each row's prompt
  std::size_t gen = 64;                     // tokens that each row decodes
  std::vector<std::size_t> rows{1, 8, 32};  // sequences that run together
  std::vector<std::size_t> sessions{};      // concurrent requests through the engine
  int repeat = 3;                           // measured runs of each row count
  bool json = false;
};

// Every row gets a prompt of its own; decoding samples greedily, inside the measured time. Prints a table, or one JSON
// object. Returns the exit code. With sessions, also what that many readers get of the
// engine, as tokens of whole runs, prefill and decode together, beside rows of the same count.
// Errors: those of Engine; kInvalidArgument for numbers that do not fit the model.
int RunBench(const BenchOptions& options);

}  // namespace hearth
