// How far each form moves a real model from float32.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "platform/worker_team.h"

namespace hearth::forms {

struct FormDistance {
  std::string form;
  double
      kl;  // KL(f32 || form) over the whole vocabulary: mean over positions, then over prompts; nats
};

struct Distances {
  std::size_t prompts;
  std::size_t positions;
  double
      peer_kl;  // KL(float32 reference || llama.cpp) of the default model's fixtures, the same means
  std::vector<FormDistance> forms;
};

// Runs the prompts of the default model's fixtures through `model` (a name or a path) once a form.
// Errors: those of the file; kInvalidArgument when the model has another vocabulary than the prompts.
// Cost:   four bytes of memory a weight; about a minute for the default model.
Distances MeasureForms(WorkerTeam& team, const std::string& model);

}  // namespace hearth::forms
