#include "platform/worker_team.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <vector>

#include "hearth/error.h"
#include "platform/float_mode.h"

namespace hearth {
namespace {

TEST(WorkerTeam, RunsEveryMemberOnceForEachJob) {
  WorkerTeam team(3);
  std::vector<int> calls(3);
  for (int job = 1; job <= 200; ++job) {
    team.Run([&](int member) { ++calls[static_cast<std::size_t>(member)]; });
    ASSERT_EQ(calls, std::vector<int>(3, job));
  }
}

TEST(WorkerTeam, RangesCoverEveryIndexOnce) {
  for (const int members : {1, 2, 5}) {
    WorkerTeam team(members);
    for (const std::size_t count : {0u, 1u, 15u, 16u, 17u, 100u}) {
      for (const std::size_t grain : {1u, 16u}) {
        std::vector<std::atomic<int>> seen(count);
        team.ForRanges(count, grain, [&](std::size_t begin, std::size_t end, int) {
          EXPECT_EQ(begin % grain, 0u);
          for (std::size_t i = begin; i < end; ++i) {
            ++seen[i];
          }
        });
        for (const std::atomic<int>& times : seen) {
          EXPECT_EQ(times, 1);
        }
      }
    }
  }
}

TEST(WorkerTeam, ChunksCoverEverythingOnce) {
  for (const int members : {1, 2, 5}) {
    WorkerTeam team(members);
    for (const std::size_t count : {0u, 1u, 6u, 7u, 100u}) {
      for (const std::size_t chunk : {1u, 3u, 64u, 200u}) {
        std::vector<std::atomic<int>> seen(count);
        team.ForChunks(count, chunk, [&](std::size_t begin, std::size_t end, int member) {
          EXPECT_EQ(begin % chunk, 0u);
          EXPECT_LT(member, members);
          for (std::size_t i = begin; i < end; ++i) {
            ++seen[i];
          }
        });
        for (const std::atomic<int>& times : seen) {
          EXPECT_EQ(times, 1);
        }
      }
    }
  }
}

// A member that is held up leaves the other chunks to the rest.
TEST(WorkerTeam, AHeldUpMemberTakesOneChunk) {
  WorkerTeam team(2);
  std::atomic<int> by_others = 0;
  std::atomic<int> holder = -1;
  team.ForChunks(10, 1, [&](std::size_t, std::size_t, int member) {
    int nobody = -1;
    if (holder.compare_exchange_strong(nobody, member)) {
      while (by_others < 9) {
      }
    } else if (member != holder) {
      ++by_others;
    }
  });
  EXPECT_EQ(by_others, 9);
}

TEST(WorkerTeam, AnErrorIsRethrownAfterAllHaveEndedAndTheTeamGoesOn) {
  WorkerTeam team(2);
  std::atomic<int> ended = 0;
  const auto failing = [&](int member) {
    ++ended;
    if (member == 1) {
      throw Error(ErrorCode::kInternal, "member 1");
    }
  };
  EXPECT_THROW(team.Run(failing), Error);
  EXPECT_EQ(ended, 2);
  team.Run([&](int) { ++ended; });
  EXPECT_EQ(ended, 4);
}

TEST(WorkerTeam, RefusesImpossibleSizes) {
  EXPECT_THROW(WorkerTeam(0), Error);
  EXPECT_THROW(WorkerTeam(257), Error);
}

#ifndef HEARTH_SANITIZED  // sanitizers need address space of their own
TEST(WorkerTeamDeathTest, SaysSoWhenTheSystemStartsNoMoreThreads) {
  const auto starve = [] {
    // Each thread wants a stack of some megabytes.
    const struct rlimit limit{std::size_t{256} << 20, std::size_t{256} << 20};
    setrlimit(RLIMIT_AS, &limit);
    alarm(20);
    try {
      const WorkerTeam team(256);
    } catch (const Error& error) {
      std::exit(error.code() == ErrorCode::kResourceExhausted ? 7 : 8);
    }
    std::exit(9);
  };
  EXPECT_EXIT(starve(), ::testing::ExitedWithCode(7), "");
}
#endif

#if defined(__x86_64__)
TEST(FloatMode, FlushesInsideTheScopeOnly) {
  volatile float smallest = std::numeric_limits<float>::min();
  volatile float half = 0.5f;
  const auto product = [&] { return smallest * half; };
  EXPECT_GT(product(), 0.0f);
  {
    const FloatModeScope mode;
    EXPECT_EQ(product(), 0.0f);
  }
  EXPECT_GT(product(), 0.0f);
}
#endif

}  // namespace
}  // namespace hearth
