// How a model is opened: what every program that embeds hearth, and every command with a model, chooses.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "hearth/numerics.h"

namespace hearth {

struct EngineOptions {
  std::string model;  // path or installed name; empty is the default model
  int threads = 0;    // worker threads; 0 is every core that the process may use (UsableCores)
  std::string isa;    // instruction set to force; empty is HEARTH_ISA, else the best
  Numerics numerics = Numerics::kDefault;
  // Bytes that the process may hold: weights, cache, work and program together. None: what the machine has, less some.
  std::optional<std::size_t> memory_budget{};
};

}  // namespace hearth
