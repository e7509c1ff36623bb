// Random requests with random readers, run through an engine beside each other and compared, token by token, with what
// each request gets alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/sampling_kernels.h"
#include "models/language_model.h"
#include "platform/worker_team.h"
#include "sampling/sampler.h"

namespace hearth::stress {

// The model under test; borrowed.
struct TestedModel {
  LanguageModel* model;
  WorkerTeam* team;
  const SamplingKernels* kernels;
  SamplerVocabulary vocabulary;
};

struct Load {
  std::size_t requests = 1000;
  std::size_t pages = 400;
  std::size_t batch = 32;
  std::size_t step_tokens = 256;
  int arrival_ms = 400;  // over which they come
};

struct LoadFacts {
  std::size_t completed = 0;
  std::size_t cancelled = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t cache_hits = 0;
};

// Runs the load on a loop with a step thread and checks every answer, the gauges and the closing, with GoogleTest's EXPECT
// and ASSERT (so the caller asks HasFatalFailure).
void RunLoad(const TestedModel& tested, const Load& load, LoadFacts& facts);

}  // namespace hearth::stress
