// How fast this machine reads memory right now: the limit that one-row decoding is compared with.
#pragma once

#include <cstddef>

#include "platform/worker_team.h"

namespace hearth {

// Bytes per second that the team reads from a buffer of `bytes` bytes, each member its own part; the
// best of `repeats` passes, since a probe can only be disturbed downwards.
// Cost: allocates the buffer and reads it repeats + 1 times. Errors: std::bad_alloc.
double ProbePlainRead(WorkerTeam& team, std::size_t bytes, int repeats);

}  // namespace hearth
