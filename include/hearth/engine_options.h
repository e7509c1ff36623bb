// How a model is opened: what every program that embeds hearth, and every command with a model, chooses.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "hearth/numerics.h"

namespace hearth {

struct EngineOptions {
  std::string model{};  // path or installed name; empty is the default model
  int threads = 0;      // worker threads; 0 is every core that the process may use
  std::string isa{};    // instruction set to force; empty is HEARTH_ISA, else the best
  Numerics numerics = Numerics::kDefault;
  // Bytes that the process may hold: weights, cache, work and program together. None: what the machine has, less some.
  std::optional<std::size_t> memory_budget{};

  // The bounds of the engine. None changes an answer.
  std::size_t batch = 32;            // requests that are computed at once
  std::size_t queue = 64;            // requests that wait; one more is refused with kOverloaded
  std::size_t step_tokens = 256;     // of a forward that carries decoding rows and prompt tokens
  std::size_t prefill_tokens = 512;  // of a forward of prompt tokens alone
  bool prompt_cache = true;          // requests share the prefixes of their prompts

  // A reader of a stream that takes nothing for this long is cancelled (kConsumerIdle).
  std::chrono::milliseconds idle_timeout{30'000};
};

}  // namespace hearth
