// A backend that computes linear layers as a form of the quantized product would, up to the order of its sums: it rounds
// what the form rounds and multiplies in float32. Everything else, attention included, is the default numerics'.
#pragma once

#include <memory>

#include "kernels/kernels.h"
#include "platform/worker_team.h"
#include "tensor/backend.h"

namespace hearth::forms {

enum class ActivationRounding {
  kNone,
  kBf16,
  kByteBlocks,  // 8 bits and one float16 factor a block of 32, max|x| / 127: llama.cpp's
};

struct Simulation {
  ActivationRounding activations;
  bool bf16_weights;  // whether dequantized weights are rounded to bfloat16
};

// Applies to matrices of quantized types only.
// Ownership: borrows the team, which outlives it.
std::unique_ptr<Backend> MakeSimulatedBackend(
    const Kernels& kernels, Simulation simulation, WorkerTeam& team
);

}  // namespace hearth::forms
