// The attention step of the CPU backend: how rotation, the cache and the queries of a batch are split over the team.
// Knows pages and kernels, not weights.
#pragma once

#include "kernels/kernels.h"
#include "platform/aligned_buffer.h"
#include "platform/worker_team.h"
#include "tensor/backend.h"

namespace hearth {

// Ownership: borrows the team; owns scratch that grows with the largest batch.
// Threads:   one caller at a time.
class CpuAttention {
 public:
  CpuAttention(const Kernels& kernels, WorkerTeam& team) : kernels_(kernels), team_(team) {}

  // As Backend::Attend. Errors: std::bad_alloc.
  void Run(const AttentionBatch& batch);

 private:
  void RotateAndStore(const AttentionBatch& batch);

  const Kernels kernels_;
  WorkerTeam& team_;
  AlignedBuffer<float> padded_queries_;
};

}  // namespace hearth
