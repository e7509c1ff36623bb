// Plans on paper: the planner's inputs read from JSON, its plan written as JSON or as lines. For `hearth plan` and for
// whoever reports a plan; the planner itself knows no text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "contracts/execution.h"

namespace hearth {

struct PlanInputs {
  ExecutionRequirements request;
  ExecutionCapabilities capabilities;
  ExecutionFeatures features;
};

// A document is a few hundred bytes; more than this is not one.
inline constexpr std::size_t kMaxPlanDocumentBytes = std::size_t{64} * 1024;

// Reads {"request": {...}, "capabilities": {...}, "features": {...}}. Each part may be absent and holds the fields of
// contracts/execution.h by name, true or false; absent is false. "capabilities" may also hold "method": "autoregressive"
// (the default) or "denoising".
// Errors: Error(kInvalidArgument) "<where>: got ..., wanted ..." for anything else, an unknown name among it.
PlanInputs ReadPlanInputs(std::string_view json, std::string_view where);

// One JSON object: method, mechanism, the six booleans and "reasons", a list in order. Without a line break at its end.
std::string PlanAsJson(const ResolvedExecution& plan);

// The same as lines "name   value" and, below "reasons", one indented line a reason.
std::string PlanAsText(const ResolvedExecution& plan);

}  // namespace hearth
