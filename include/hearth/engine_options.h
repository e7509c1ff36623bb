// How a model is opened: what every program that embeds hearth, and every command with a model, chooses.
#pragma once

#include <string>

#include "hearth/numerics.h"

namespace hearth {

struct EngineOptions {
  std::string model;  // path or installed name; empty is the default model
  int threads = 0;    // worker threads; 0 is every core that the process may use (UsableCores)
  std::string isa;    // instruction set to force; empty is HEARTH_ISA, else the best
  Numerics numerics = Numerics::kDefault;
};

}  // namespace hearth
