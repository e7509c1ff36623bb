// How a session meets the execution group: a request as an inference method whose run is one row.
#pragma once

#include <memory>

#include "contracts/method.h"
#include "engine/execution_group.h"
#include "hearth/generation_request.h"

namespace hearth {

// Makes the request's run; to be asked once. The row queues when the run is executed.
// Ownership: borrows the group, which outlives the run.
// Threads:   the engine loop.
std::shared_ptr<InferenceMethod> MakeRowMethod(
    ContinuousGroup& group, GenerationRequest request, AutoregressiveRow row
);

}  // namespace hearth
