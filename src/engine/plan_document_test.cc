#include "engine/plan_document.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/execution_plan.h"
#include "hearth/error.h"

namespace hearth {
namespace {

ResolvedExecution PlanOf(std::string_view json) {
  const PlanInputs inputs = ReadPlanInputs(json, "plan.json");
  return ResolveExecution(inputs.request, inputs.capabilities, inputs.features);
}

constexpr std::string_view kSeededPagedRequest =
    R"({"request": {"user_seed": true, "has_grammar": false},
        "capabilities": {"method": "autoregressive", "continuous": true, "seeded_rows": true},
        "features": {"paged_kv": true}})";

TEST(PlanDocument, ReadsWhatThePlannerNeeds) {
  EXPECT_EQ(
      PlanAsJson(PlanOf(kSeededPagedRequest)),
      R"({"method":"autoregressive","mechanism":"serial","paged_kv":true,"prompt_cache":false,)"
      R"("checkpoint":false,"fill":false,"compiled_decode":false,"grammar_jump":false,)"
      R"("reasons":["paged-kv-requires-serial"]})"
  );
}

TEST(PlanDocument, WritesLines) {
  EXPECT_EQ(PlanAsText(PlanOf(kSeededPagedRequest)), R"(method           autoregressive
mechanism        serial
paged_kv         yes
prompt_cache     no
checkpoint       no
fill             no
compiled_decode  no
grammar_jump     no
reasons
  paged-kv-requires-serial
)");
}

TEST(PlanDocument, NoReasonIsSaid) {
  const std::string text = PlanAsText(PlanOf(R"({"capabilities": {"continuous": true}})"));
  EXPECT_NE(text.find("mechanism        continuous\n"), std::string::npos);
  EXPECT_TRUE(text.ends_with("reasons          none\n"));
}

TEST(PlanDocument, AnEmptyObjectIsAllDefaults) {
  EXPECT_EQ(PlanOf("{}"), ResolveExecution({}, {}, {}));
}

TEST(PlanDocument, DenoisingIsAMethodOfModels) {
  EXPECT_EQ(
      PlanOf(R"({"capabilities": {"method": "denoising"}})").method, ExecutionMethod::kDenoising
  );
}

void ExpectRefusal(std::string_view json, const std::string& message) {
  try {
    ReadPlanInputs(json, "plan.json");
    ADD_FAILURE() << json << " was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.what(), message);
  }
}

TEST(PlanDocument, RefusesEverythingElseInOneLine) {
  ExpectRefusal("", "plan.json: got text that is not JSON, wanted one JSON object");
  ExpectRefusal("{} {}", "plan.json: got text that is not JSON, wanted one JSON object");
  ExpectRefusal("\"\xff\"", "plan.json: got text that is not JSON, wanted one JSON object");
  ExpectRefusal("[]", "plan.json: got array, wanted object");
  ExpectRefusal(R"({"request": 3})", "plan.json: request: got number, wanted object");
  ExpectRefusal(
      R"({"requests": {}})", "plan.json: got 'requests', wanted request, capabilities or features"
  );
  ExpectRefusal(
      R"({"features": {"paged\n": true}})",
      R"(plan.json: features: got 'paged\x0a', wanted one of paged_kv, fill, compiled_decode, grammar_jump)"
  );
  ExpectRefusal(
      R"({"request": {"has_vision": 1}})",
      "plan.json: request.has_vision: got number, wanted true or false"
  );
  ExpectRefusal(
      R"({"capabilities": {"method": "speculative"}})",
      "plan.json: capabilities.method: got 'speculative', wanted autoregressive or denoising"
  );
  ExpectRefusal(
      R"({"capabilities": {"method": null}})",
      "plan.json: capabilities.method: got null, wanted autoregressive or denoising"
  );
  ExpectRefusal(
      std::string(kMaxPlanDocumentBytes + 1, ' '),
      "plan.json: got 65537 bytes, wanted at most 65536"
  );
  // Deep nesting is refused like anything that is no object, without recursion.
  EXPECT_THROW(ReadPlanInputs(std::string(60000, '['), "plan.json"), Error);
}

}  // namespace
}  // namespace hearth
