#include "cli/plan_command.h"

#include <fmt/core.h>

#include "engine/execution_plan.h"
#include "engine/plan_document.h"
#include "platform/file_map.h"

namespace hearth {

int RunPlanCommand(const std::filesystem::path& file, bool json_output) {
  const FileMap map(file);
  const std::string_view text(
      reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()
  );
  const PlanInputs inputs = ReadPlanInputs(text, map.name());
  const ResolvedExecution plan =
      ResolveExecution(inputs.request, inputs.capabilities, inputs.features);
  fmt::print("{}", json_output ? PlanAsJson(plan) + "\n" : PlanAsText(plan));
  return 0;
}

}  // namespace hearth
