// One forward of the execution group and the choice of a token for each row that is due: what the step thread does.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "engine/batch_row.h"
#include "models/language_model.h"
#include "platform/worker_team.h"

namespace hearth {

// What a step computes with.
struct StepParts {
  LanguageModel* model = nullptr;
  WorkerTeam* team = nullptr;
  const SamplingKernels* kernels = nullptr;
  std::size_t vocabulary = 0;  // tokens that exist; a row of logits may be wider
};

// Composed on the engine loop, computed on the step thread, read on the loop again.
// Ownership: keeps its rows alive; borrows their sequences, whose pages are reserved before Compute.
// Threads:   between Compute's start and end only Compute touches the rows' tokens, samplers and sequences.
class BatchStep {
 public:
  // What became of one row.
  struct Part {
    std::shared_ptr<BatchRow> row;
    ForwardRow forward;
    bool samples = false;  // a token was due
    RowOutcome outcome{};  // the token, or the row's own error (also without a token)
  };

  // The next `count` tokens of the row.
  void Add(std::shared_ptr<BatchRow> row, std::size_t count);

  bool empty() const { return parts_.empty(); }

  bool Holds(const BatchRow& row) const;

  std::span<Part> parts() { return parts_; }

  // Forwards, gives prompt logits and scores to their sinks, samples. `logits` is kept from step to step.
  // Errors: those of Forward and std::bad_alloc, which concern every row. A row's own stay in its part.
  void Compute(const StepParts& with, std::vector<float>& logits);

 private:
  void ShowPrompt(
      const StepParts& with, Part& part, std::size_t first, std::span<const float> logits
  );

  std::vector<Part> parts_;
};

}  // namespace hearth
