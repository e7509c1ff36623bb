#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <string>
#include <vector>

#include "engine/scheduler_test_group.h"

namespace hearth {
namespace {

// The reference's policy is proved by the conformance suite. Here: the optional abilities of a group, and what C++ adds
// (real clock, destroyed frames).

using boost::asio::awaitable;
using scheduler_test::Row;
using scheduler_test::TokenGroup;
using scheduler_test::Trace;

// Drives the group until nothing is left to do. The error that the driver ended with, null for none.
std::exception_ptr Drive(TokenGroup& group, SchedulerOptions options = {}) {
  boost::asio::io_context executor(1);
  bool ended = false;
  std::exception_ptr result;
  boost::asio::co_spawn(
      executor, DriveExecutionGroup(group, group, options), [&](const std::exception_ptr& error) {
        ended = true;
        result = error;
      }
  );
  std::size_t turns = 0;
  while (!ended && ++turns < 10000 && executor.poll_one() > 0) {
  }
  EXPECT_TRUE(ended);
  EXPECT_EQ(group.leases, 0U);
  return result;
}

// The first lines of the trace, as many as are expected.
void ExpectStart(const TokenGroup& group, const Trace& expected) {
  ASSERT_GE(group.trace.size(), expected.size());
  EXPECT_EQ(Trace(group.trace.begin(), group.trace.begin() + std::ssize(expected)), expected);
}

TEST(SchedulerCohort, RowsArePreparedTogetherUpToMaxActive) {
  TokenGroup group({{"a", 600}, {"b", 10}, {"c", 10}});
  group.limit = 2;
  EXPECT_EQ(Drive(group), nullptr);
  EXPECT_EQ(
      group.trace,
      (Trace{
          "admit a",
          "admit b",
          "prepare a:88,b:0",
          "advance b",
          "yield",
          "admit c",
          "prepare a:0,c:0",
          "advance a,c",
          "yield",
          "wait",
          "fail_all scheduler closed"
      })
  );
}

TEST(SchedulerCohort, ActiveRowsCountAgainstMaxActive) {
  TokenGroup group({{"a", 0, 3}, {"b", 0, 3}, {"c", 9}, {"d", 9}});
  group.limit = 3;
  EXPECT_EQ(Drive(group), nullptr);
  ExpectStart(group, {"admit a", "admit b", "admit c", "prepare c:0", "advance a,b,c"});
}

TEST(SchedulerCohort, TokensInPreparationAreBounded) {
  TokenGroup group({{"a", 1500}, {"b", 400}, {"c", 200}});
  EXPECT_EQ(Drive(group), nullptr);
  // c would make it 2100; after a chunk there is room.
  ExpectStart(
      group,
      {"admit a",
       "admit b",
       "prepare a:988,b:0",
       "advance b",
       "yield",
       "admit c",
       "prepare a:476,c:0"}
  );
}

TEST(SchedulerCohort, BoundIsReachedExactly) {
  TokenGroup group({{"a", 1000}, {"b", 1048}, {"c", 1}});
  EXPECT_EQ(Drive(group), nullptr);
  ExpectStart(group, {"admit a", "admit b", "prepare a:488,b:536"});
}

TEST(SchedulerCohort, ALongRowIsAdmittedAlone) {
  TokenGroup group({{"a", 5000}, {"b", 1}});
  EXPECT_EQ(Drive(group), nullptr);
  ExpectStart(group, {"admit a", "prepare a:4488"});
}

TEST(SchedulerCohort, NobodyJoinsWithoutLeave) {
  for (const int reason : {0, 1, 2}) {
    TokenGroup group({{"a", 600}, {"b", 10, 1, reason != 0}});
    group.may_join = reason != 1;
    if (reason == 2) {
      group.once["prepare"] = [&] { group.held = true; };
      group.token_bound = 600;
    }
    group.once["wait"] = [&] { group.is_closed = true; };
    EXPECT_EQ(Drive(group), nullptr);
    ExpectStart(group, {"admit a", "prepare a:88", "yield", "prepare a:0"});
  }
}

TEST(SchedulerCohort, AHeadThatIsPutOffIsAskedOnce) {
  TokenGroup group({{"a", 600}, {"b", 10, 1, true, false, true}});
  group.once["yield"] = [&] { group.is_closed = true; };
  EXPECT_EQ(Drive(group), nullptr);
  EXPECT_EQ(
      group.trace,
      (Trace{"admit a", "put_off b", "prepare a:88", "yield", "fail_all scheduler closed"})
  );
}

TEST(SchedulerCohort, ARefusedHeadMakesRoomForTheNext) {
  TokenGroup group({{"a", 600}, {"b", 10, 1, true, true}, {"c", 10}});
  EXPECT_EQ(Drive(group), nullptr);
  ExpectStart(group, {"admit a", "refuse b", "admit c", "prepare a:88,c:0"});
}

TEST(SchedulerCohort, IsNotUsedByAGroupWithoutIt) {
  TokenGroup group({{"a", 600}, {"b", 10}});
  group.offers_cohort = false;
  EXPECT_EQ(Drive(group), nullptr);
  ExpectStart(group, {"admit a", "prepare a:88", "yield", "prepare a:0"});
}

TEST(SchedulerCohort, FirstTokensOfACohortAreFlushedTogether) {
  for (const bool flush : {true, false}) {
    TokenGroup group({{"a", 10, 2}, {"b", 10, 2}});
    EXPECT_EQ(Drive(group, {.yield_after_preparation = flush}), nullptr);
    ExpectStart(group, {"admit a", "admit b", "prepare a:0,b:0", flush ? "yield" : "advance a,b"});
  }
}

TEST(SchedulerCohort, NoFlushWhileRowsAreQueued) {
  TokenGroup group({{"a", 10, 2}, {"b", 10, 2}, {"c", 10, 2, false}});
  EXPECT_EQ(Drive(group, {.yield_after_preparation = true}), nullptr);
  ExpectStart(group, {"admit a", "admit b", "prepare a:0,b:0", "advance a,b"});
}

// One row that decodes and one that is long in preparation.
TokenGroup MixedGroup() {
  TokenGroup group({{"a", 0, 3}, {"b", 600, 1}});
  group.offers_mixed = true;
  return group;
}

TEST(SchedulerMixed, DecodeAndPreparationShareAForward) {
  TokenGroup group = MixedGroup();
  EXPECT_EQ(Drive(group), nullptr);
  EXPECT_EQ(
      group.trace,
      (Trace{
          "admit a",
          "admit b",
          "mixed 256: a | b:345",
          "yield",
          "mixed 256: a | b:90",
          "yield",
          "mixed 256: a | b:0",
          "yield",
          "advance b",
          "yield",
          "wait",
          "fail_all scheduler closed"
      })
  );
}

TEST(SchedulerMixed, DecodeIsServedFirstAndPreparationStillMoves) {
  TokenGroup group = MixedGroup();
  group.iteration_tokens = 1;
  group.minimum_tokens = 4;
  EXPECT_EQ(Drive(group), nullptr);
  ExpectStart(group, {"admit a", "admit b", "mixed 5: a | b:596"});
}

TEST(SchedulerMixed, NeedsBothKindsOfRows) {
  TokenGroup group({{"b", 600, 1}});
  group.offers_mixed = true;
  EXPECT_EQ(Drive(group), nullptr);
  ExpectStart(group, {"admit b", "prepare b:88", "yield", "prepare b:0", "advance b"});
}

TEST(SchedulerMixed, IsLeftOutWhenRowsCannotShare) {
  TokenGroup group = MixedGroup();
  group.may_mix = false;
  EXPECT_EQ(Drive(group), nullptr);
  ExpectStart(group, {"admit a", "admit b", "prepare b:88", "advance a", "yield"});
}

TEST(SchedulerMixed, MoreRowsJoinBetweenSteps) {
  TokenGroup group = MixedGroup();
  group.once["yield"] = [&] { group.Arrive({"c", 20}); };
  EXPECT_EQ(Drive(group), nullptr);
  ExpectStart(
      group,
      {"admit a", "admit b", "mixed 256: a | b:345", "yield", "admit c", "mixed 256: a | b:90,c:20"}
  );
}

TEST(SchedulerMixed, AFailureEndsTheRowsOfTheForwardOnly) {
  TokenGroup group = MixedGroup();
  group.fail_once["mixed"] = "matmul exploded";
  group.once["mixed"] = [&] { group.Arrive({"c", 20}); };
  EXPECT_EQ(Drive(group), nullptr);
  EXPECT_EQ(
      group.trace,
      (Trace{
          "admit a",
          "admit b",
          "fail_mixed matmul exploded",
          "yield",
          "admit c",
          "prepare c:0",
          "advance c",
          "yield",
          "wait",
          "fail_all scheduler closed"
      })
  );
}

TEST(SchedulerMixed, AFailureOfFailMixedIsTerminal) {
  TokenGroup group = MixedGroup();
  group.fail_once = {{"mixed", "matmul exploded"}, {"fail_mixed", "cannot fail"}};
  EXPECT_EQ(Drive(group), nullptr);
  ExpectStart(group, {"admit a", "admit b", "fail_mixed matmul exploded", "fail_all cannot fail"});
}

// A small generator of its own, so that a run is the same everywhere.
class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : state_(seed * 2654435761U + 1U) {}

  std::uint32_t Below(std::uint32_t bound) {
    state_ = state_ * 1664525U + 1013904223U;
    return (state_ >> 8U) % bound;
  }

 private:
  std::uint32_t state_;
};

// Whatever the rows and abilities: bounds hold at every call, every admitted row is prepared and decoded, the driver
// ends, and every lease is given back (Drive checks that).
TEST(SchedulerAbilities, BoundsHoldAndEveryRowIsServed) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    Numbers numbers(seed);
    std::deque<Row> rows;
    int steps = 0;
    for (std::uint32_t i = 0; i < 2 + numbers.Below(8); ++i) {
      Row row{"r" + std::to_string(i), numbers.Below(900), 1 + static_cast<int>(numbers.Below(5))};
      row.burst = numbers.Below(4) != 0;
      steps += row.decode;
      rows.push_back(row);
    }
    const std::size_t count = rows.size();
    TokenGroup group(std::move(rows));
    group.limit = 1 + numbers.Below(4);
    group.offers_cohort = numbers.Below(3) != 0;
    group.offers_mixed = numbers.Below(2) != 0;
    group.token_bound = 200 + numbers.Below(1500);
    group.chunk = 64 + numbers.Below(512);
    group.iteration_tokens = numbers.Below(300);
    group.after_each_call = [&] {
      EXPECT_LE(group.active() + group.preparing_rows(), group.limit);
      EXPECT_TRUE(group.preparing_rows() <= 1 || group.preparing_tokens() <= group.token_bound);
      EXPECT_TRUE(group.offers_cohort || group.preparing_rows() <= 1);
    };
    EXPECT_EQ(Drive(group, {.yield_after_preparation = numbers.Below(2) != 0}), nullptr);
    std::size_t admitted = 0;
    int decoded = 0;
    for (const std::string& line : group.trace) {
      admitted += line.starts_with("admit ") ? 1U : 0U;
      if (line.starts_with("advance ") || line.starts_with("mixed ")) {
        const std::string names = line.substr(0, line.find('|'));
        decoded += static_cast<int>(std::count(names.begin(), names.end(), 'r'));
      }
    }
    EXPECT_EQ(admitted, count) << "seed " << seed;
    EXPECT_EQ(decoded, steps) << "seed " << seed;
    EXPECT_EQ(group.trace.back(), "fail_all scheduler closed") << "seed " << seed;
  }
}

TEST(Scheduler, AFrameThatIsDestroyedWhileSuspendedReleasesItsLeases) {
  TokenGroup group({{"a", 5000}});
  {
    boost::asio::io_context executor(1);
    boost::asio::co_spawn(executor, DriveExecutionGroup(group, group, {}), boost::asio::detached);
    while (group.trace.empty() && executor.poll_one() > 0) {
    }
    EXPECT_EQ(group.leases, 2U);
  }
  EXPECT_EQ(group.leases, 0U);
  EXPECT_EQ(group.trace, (Trace{"admit a"}));
}

TEST(LoopClock, YieldLetsReadyWorkRunAndTimeNeverGoesBack) {
  boost::asio::io_context executor(1);
  LoopClock clock;
  Trace trace;
  const auto yield_once = [](LoopClock& loop_clock, Trace& lines) -> awaitable<void> {
    const auto before = loop_clock.Now();
    lines.push_back("before");
    co_await loop_clock.Yield();
    lines.push_back(loop_clock.Now() >= before ? "after" : "time went back");
  };
  boost::asio::co_spawn(executor, yield_once(clock, trace), boost::asio::detached);
  boost::asio::post(executor, [&] { trace.push_back("other work"); });
  while (executor.poll() > 0) {
  }
  EXPECT_EQ(trace, (Trace{"before", "other work", "after"}));
}

}  // namespace
}  // namespace hearth
