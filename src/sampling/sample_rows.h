// Samples the rows of a batch, side by side.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "platform/worker_team.h"
#include "sampling/sampler.h"

namespace hearth {

// The arguments of one Sample. Each row has a sampler and logits of its own.
struct SampleRow {
  Sampler* sampler;
  std::span<float> logits;
  std::span<const TokenId> history;
  std::uint64_t step;
};

// Exactly one of the two: what Sample returned, or what it threw.
struct RowOutcome {
  SampledToken sampled = {};
  std::exception_ptr error = {};
};

// Shapes:  the result is [rows], in their order.
// Threads: rows are split over the team, one caller at a time; a row's result does not depend on the team or on the others.
// Errors:  none of a row's: an error of one leaves the others alone.
std::vector<RowOutcome> SampleRows(std::span<const SampleRow> rows, WorkerTeam& team);

}  // namespace hearth
