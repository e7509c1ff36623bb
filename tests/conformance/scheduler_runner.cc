// Replays scheduler/*.jsonl against engine/scheduler, on an executor that the test turns by hand.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "conformance/entries.h"
#include "conformance/scripted_group.h"
#include "engine/scheduler.h"

namespace hearth::conformance {
namespace {

struct Result {
  std::vector<std::string> trace;
  Json outcome = {{"status", "pending"}};
  bool overran = false;
};

Result Run(const Json& scenario, Abilities abilities) {
  Result result;
  ScriptedGroup group(scenario, abilities);
  boost::asio::io_context executor(1);
  boost::asio::co_spawn(
      executor,
      DriveExecutionGroup(
          group,
          group,
          {.yield_after_preparation = scenario.value("yield_after_preparation", false)}
      ),
      [&](const std::exception_ptr& error) {
        result.outcome = error ? Json{{"status", "rejected"}, {"error", ErrorJson(error)}}
                               : Json{{"status", "resolved"}};
      }
  );
  while (executor.poll() > 0) {
  }
  result.trace = group.trace();
  result.overran = group.overran();
  return result;
}

std::string Compare(const Json& scenario, Abilities abilities) {
  const Result result = Run(scenario, abilities);
  const std::string difference =
      FirstDifference(scenario.at("trace").get<std::vector<std::string>>(), result.trace);
  if (!difference.empty()) {
    return difference;
  }
  if (result.overran) {
    return "too many calls";
  }
  if (result.outcome != scenario.at("outcome")) {
    return "outcome: got " + result.outcome.dump() + ", wanted " + scenario.at("outcome").dump();
  }
  return "";
}

// Every scenario three times: a group that offers no optional ability must see the recorded calls, and so must one that
// offers them but cannot use them.
void ReplayEntry(const Entry& entry, Report& report) {
  const std::pair<Abilities, std::string> runs[] = {
      {Abilities::kNone, ""},
      {Abilities::kAlwaysFull, "with abilities that are never free: "},
      {Abilities::kNoTokensLeft, "with abilities that lack tokens: "},
  };
  for (const auto& [abilities, words] : runs) {
    const std::string difference = Compare(entry.value, abilities);
    if (!difference.empty()) {
      report.Fail(entry.name, words + difference);
      return;
    }
  }
  report.Pass();
}

TEST(Scheduler, FilesAreComplete) {
  CheckFiles("scheduler", {{"named.jsonl", 81}, {"random.jsonl", 200}});
}

class SchedulerFile : public testing::TestWithParam<std::filesystem::path> {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SchedulerFile);

TEST_P(SchedulerFile, IsReplayed) {
  ReplayFile(GetParam(), ReplayEntry);
}

INSTANTIATE_TEST_SUITE_P(
    Conformance, SchedulerFile, testing::ValuesIn(FilesOf("scheduler")), [](const auto& file) {
      return TestName(file.param);
    }
);

}  // namespace
}  // namespace hearth::conformance
