// The backend of the processor: kernels of one instruction set, run by a worker team.
#pragma once

#include <memory>

#include "kernels/kernels.h"
#include "platform/worker_team.h"
#include "tensor/backend.h"

namespace hearth {

// Ownership: borrows the team, which outlives it.
// Threads:   one caller at a time. K is never split between threads: outputs, rows and heads are, so
//            results do not depend on the team's size.
std::unique_ptr<Backend> MakeCpuBackend(
    const Kernels& kernels, Numerics numerics, WorkerTeam& team
);

// Backend::ScratchCost of that backend with a team of `members`, without making one.
ForwardCost CpuScratchCost(const ScratchShape& shape, Numerics numerics, std::size_t members);

}  // namespace hearth
