// Replays session/*.jsonl against engine/session.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "conformance/entries.h"
#include "conformance/session_scenario.h"

namespace hearth::conformance {
namespace {

// What our types cannot hold: a token id is a uint32, a planned limit an int64 (a negative limit can be said, and is
// refused at run time). Entries with these needs are replayed up to the step that has such a value.
const std::set<std::string> kInexpressible = {"fractional_ids", "fractional_limit", "wide_ids"};

// Whether our types can hold what the step gives to the session.
bool Expressible(const Json& step) {
  const Json ids = step.value("ids", Json::array());
  const auto is_token_id = [](const Json& id) {
    return id.is_number_unsigned() && id.get<std::uint64_t>() <= 0xffffffffU;
  };
  return std::all_of(ids.begin(), ids.end(), is_token_id) &&
         step.value("limit", Json(0)).is_number_integer();
}

// The first step that differs, or what is wrong after the end; empty when everything is as expected.
// `whole` false: only up to the first step that cannot be expressed.
std::string ReplaySteps(const Json& steps, bool whole) {
  std::unique_ptr<SessionScenario> scenario;
  std::size_t number = 0;
  for (const Json& step : steps) {
    if (!whole && !Expressible(step)) {
      break;
    }
    ++number;
    if (scenario == nullptr) {
      scenario = std::make_unique<SessionScenario>(step);
    } else {
      scenario->Apply(step);
    }
    const Json seen = scenario->Observe();
    if (seen != step.at("expect")) {
      scenario->Drain();
      return "step " + std::to_string(number) + " " + step.at("op").get<std::string>() + ": got " +
             seen.dump() + ", wanted " + step.at("expect").dump();
    }
  }
  return scenario->Drain();
}

void ReplayEntry(const Entry& entry, Report& report) {
  const std::string missing = MissingNeeds(entry.value, kInexpressible);
  const std::string difference = ReplaySteps(entry.value.at("steps"), missing.empty());
  if (!difference.empty()) {
    report.Fail(entry.name, difference);
  } else if (!missing.empty()) {
    report.Except(entry.name, "replayed up to the step that needs " + missing);
  } else {
    report.Pass();
  }
}

TEST(Session, FilesAreComplete) {
  CheckFiles("session", {{"named.jsonl", 98}, {"random.jsonl", 300}});
}

class SessionFile : public testing::TestWithParam<std::filesystem::path> {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SessionFile);

TEST_P(SessionFile, IsReplayed) {
  ReplayFile(GetParam(), ReplayEntry);
}

INSTANTIATE_TEST_SUITE_P(
    Conformance, SessionFile, testing::ValuesIn(FilesOf("session")), [](const auto& file) {
      return TestName(file.param);
    }
);

}  // namespace
}  // namespace hearth::conformance
