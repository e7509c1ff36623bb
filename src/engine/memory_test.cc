#include "engine/memory.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <string>

#include "hearth/error.h"
#include "support/expect_error.h"

namespace hearth {
namespace {

constexpr std::size_t kMegabyte = 1'000'000;
constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

template <typename Call>
void ExpectExhausted(std::initializer_list<std::string> parts, const Call& call) {
  for (const std::string& part : parts) {
    ExpectError(call, ErrorCode::kResourceExhausted, part);
  }
}

// Round numbers: 100 MB of weights, 1 MB a page of 64 tokens, 16 pages a context.
MemoryFacts Facts() {
  MemoryFacts facts;
  facts.weight_bytes = 90 * kMegabyte;
  facts.mapped_bytes = 10 * kMegabyte;
  facts.file_bytes = 95 * kMegabyte;
  facts.forward = {1 * kMegabyte, 10'000, 100'000};
  facts.page_bytes = kMegabyte;
  facts.page_tokens = 64;
  facts.context_length = 1024;
  facts.sampler_bytes = 900'000;
  facts.reserve_bytes = 20 * kMegabyte;
  facts.threads = 2;
  return facts;
}

MemoryBudget Usable(std::size_t megabytes) {
  return {megabytes * kMegabyte, kMost};
}

StepSizes Rows(std::size_t batch) {
  StepSizes steps;
  steps.batch = batch;
  steps.step_tokens = 100;
  steps.prefill_tokens = 300;
  return steps;
}

TEST(Memory, APlanIsTheSumOfItsParts) {
  const MemoryPlan plan = PlanMemory(Facts(), Rows(10), Usable(200));
  EXPECT_EQ(plan.weight_bytes, 100 * kMegabyte);
  EXPECT_EQ(plan.activation_bytes, 5 * kMegabyte);  // 1 + 300 tokens of 10 kB + 10 rows of 100 kB
  EXPECT_EQ(plan.sampler_bytes, 9 * kMegabyte);
  EXPECT_EQ(plan.reserve_bytes, 20 * kMegabyte);
  EXPECT_EQ(plan.fixed_bytes, 134 * kMegabyte);
  EXPECT_EQ(plan.pages, 66u);
  EXPECT_EQ(plan.RequirePages(), 66u);
  EXPECT_EQ(plan.LargestContext(), 1024u);
  EXPECT_EQ(plan.CacheBytes(3, 65), 6 * kMegabyte);
  EXPECT_EQ(plan.TotalBytes(3, 65), 140 * kMegabyte);
}

TEST(Memory, StepsOfEveryKindCount) {
  StepSizes steps = Rows(10);
  steps.step_tokens = 400;
  EXPECT_EQ(PlanMemory(Facts(), steps, Usable(200)).activation_bytes, 6 * kMegabyte);
  steps.batch = 500;
  EXPECT_EQ(PlanMemory(Facts(), steps, Usable(200)).activation_bytes, 56 * kMegabyte);
  steps.prompt_logit_rows = 300;
  EXPECT_EQ(PlanMemory(Facts(), steps, Usable(200)).activation_bytes, 86 * kMegabyte);
}

TEST(Memory, FitsUpToTheLastPage) {
  const MemoryPlan plan = PlanMemory(Facts(), Rows(10), Usable(134 + 32));
  EXPECT_EQ(plan.pages, 32u);
  EXPECT_TRUE(plan.Fits(2, 1024));
  EXPECT_FALSE(plan.Fits(3, 1024));
  EXPECT_TRUE(plan.Fits(32, 64));
  EXPECT_FALSE(plan.Fits(32, 65));
  EXPECT_FALSE(plan.Fits(1, 1025));  // beyond the model's context, however much memory there is
}

TEST(Memory, WhatDoesNotFitSaysWhyWithBothNumbers) {
  const MemoryPlan plan = PlanMemory(Facts(), Rows(10), Usable(134 + 32));
  EXPECT_EQ(plan.WhyNot(2, 1024), "");
  EXPECT_EQ(plan.WhyNot(3, 1024), "182 MB wanted, 166 MB usable");
  EXPECT_EQ(plan.WhyNot(1, 1025), "a context of 1025 tokens, the model's has 1024");
  const MemoryPlan half = PlanMemory(Facts(), Rows(10), {1000 * kMegabyte, 40 * kMegabyte});
  EXPECT_EQ(half.WhyNot(2, 1024), "");
  EXPECT_EQ(half.WhyNot(3, 1024), "48 MB of cache wanted, 40 MB usable for it");
}

TEST(Memory, TheLargestContextIsWhatThePagesHold) {
  EXPECT_EQ(PlanMemory(Facts(), Rows(10), Usable(134 + 7)).LargestContext(), 7u * 64);
  EXPECT_EQ(PlanMemory(Facts(), Rows(10), Usable(134 + 70)).LargestContext(), 1024u);
}

TEST(Memory, WithoutRoomForAPageNothingFits) {
  for (const std::size_t megabytes : {0u, 100u, 134u}) {
    const MemoryPlan plan = PlanMemory(Facts(), Rows(10), Usable(megabytes));
    EXPECT_EQ(plan.pages, 0u);
    EXPECT_EQ(plan.LargestContext(), 0u);
    EXPECT_FALSE(plan.Fits(1, 1));
    ExpectExhausted({"135 MB", std::to_string(megabytes) + " MB"}, [&] { plan.RequirePages(); });
  }
  EXPECT_EQ(PlanMemory(Facts(), Rows(10), Usable(135)).pages, 1u);
}

TEST(Memory, ThePoolHoldsTheBatchTwiceAtMost) {
  EXPECT_EQ(PlanMemory(Facts(), Rows(10), Usable(100'000)).pages, 2u * 10 * 16);
  EXPECT_EQ(PlanMemory(Facts(), Rows(1), Usable(100'000)).pages, 2u * 16);
}

TEST(Memory, ThePoolStaysBelowItsCeiling) {
  EXPECT_EQ(PlanMemory(Facts(), Rows(10), {100'000 * kMegabyte, 50 * kMegabyte}).pages, 50u);
}

TEST(Memory, RowsThatFitPayForTheirSamplersAndLogits) {
  // 124 MB beside rows; a row takes 1 MB, and 4 pages with a context of 256.
  EXPECT_EQ(RowsThatFit(Facts(), Rows(1), Usable(124 + 49), 256), 9u);
  EXPECT_EQ(RowsThatFit(Facts(), Rows(1), Usable(124 + 50), 256), 10u);
  EXPECT_EQ(RowsThatFit(Facts(), Rows(7), Usable(124 + 50), 256), 10u);
  EXPECT_EQ(RowsThatFit(Facts(), Rows(1), Usable(124 + 4), 256), 0u);
  EXPECT_EQ(RowsThatFit(Facts(), Rows(1), Usable(100'000'000), 256), kMostPlannedRows);
  EXPECT_EQ(RowsThatFit(Facts(), Rows(1), Usable(100'000'000), 2000), 0u);
}

TEST(Memory, TheMachineLessItsHeadroom) {
  MemoryLimits limits;
  limits.physical = std::size_t{8} << 30;
  MemoryBudget budget = BudgetFor(limits, {}, Facts());
  EXPECT_EQ(budget.usable_bytes, std::size_t{7} << 30);
  EXPECT_EQ(budget.cache_bytes, std::size_t{4} << 30);
  limits.physical = std::size_t{64} << 30;
  budget = BudgetFor(limits, {}, Facts());
  EXPECT_EQ(budget.usable_bytes, std::size_t{62} << 30);
  EXPECT_EQ(budget.cache_bytes, std::size_t{32} << 30);
}

TEST(Memory, ABudgetReplacesHeadroomAndHalf) {
  MemoryLimits limits;
  limits.physical = 1000 * kMegabyte;
  EXPECT_EQ(BudgetFor(limits, 990 * kMegabyte, Facts()).usable_bytes, 990 * kMegabyte);
  EXPECT_EQ(BudgetFor(limits, 2000 * kMegabyte, Facts()).usable_bytes, 1000 * kMegabyte);
  EXPECT_EQ(
      PlanMemory(Facts(), Rows(100), BudgetFor(limits, 990 * kMegabyte, Facts())).pages, 766u
  );
}

TEST(Memory, TheDataLimitPaysForStacksAndNotForMaps) {
  MemoryLimits limits;
  limits.physical = 10'000 * kMegabyte;
  limits.data = 500 * kMegabyte;
  limits.thread_stack = 8 * kMegabyte;
  EXPECT_EQ(BudgetFor(limits, {}, Facts()).usable_bytes, (500 - 16 + 10) * kMegabyte);
  EXPECT_EQ(BudgetFor(limits, 900 * kMegabyte, Facts()).usable_bytes, (500 - 16 + 10) * kMegabyte);
  EXPECT_EQ(BudgetFor(limits, 300 * kMegabyte, Facts()).usable_bytes, 300 * kMegabyte);
  limits.data = 0;
  EXPECT_EQ(PlanMemory(Facts(), Rows(1), BudgetFor(limits, {}, Facts())).pages, 0u);
}

TEST(Memory, TheAddressSpacePaysForTheWholeMapToo) {
  MemoryLimits limits;
  limits.physical = 10'000 * kMegabyte;
  limits.thread_stack = 8 * kMegabyte;
  const std::size_t taken = (16 + 85) * kMegabyte + (std::size_t{16 + 128} << 20);
  limits.address_space = taken + 300 * kMegabyte;
  EXPECT_EQ(BudgetFor(limits, {}, Facts()).usable_bytes, 300 * kMegabyte);
  limits.address_space = taken - 1;
  EXPECT_EQ(BudgetFor(limits, {}, Facts()).usable_bytes, 0u);
}

TEST(Memory, HugeNumbersStopAtTheLargest) {
  MemoryFacts facts = Facts();
  facts.page_bytes = std::size_t{1} << 50;
  facts.context_length = std::size_t{1} << 40;
  facts.forward.token_bytes = kMost / 2;
  facts.sampler_bytes = kMost / 2;
  const MemoryPlan plan = PlanMemory(facts, Rows(kMostPlannedRows), Usable(1000));
  EXPECT_EQ(plan.fixed_bytes, kMost);
  EXPECT_EQ(plan.TotalBytes(kMostPlannedRows, facts.context_length), kMost);
  EXPECT_EQ(plan.pages, 0u);
  EXPECT_EQ(RowsThatFit(facts, Rows(1), Usable(1000), 1), 0u);
}

constexpr CacheSize kSmallPool{1024, 64, 10};
constexpr CacheSize kRoomyPool{1024, 64, 100};
constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();

TEST(Memory, TheContextEndsWithTheModelsOrThePool) {
  EXPECT_EQ(kSmallPool.Context(), 640u);
  EXPECT_EQ(kRoomyPool.Context(), 1024u);
}

TEST(Memory, PagesOfARequest) {
  EXPECT_EQ(MostPages(64, 0, kRoomyPool), 1u);
  EXPECT_EQ(MostPages(65, 0, kRoomyPool), 2u);
  EXPECT_EQ(MostPages(64, 1, kRoomyPool), 1u);  // the token that ends the answer is not cached
  EXPECT_EQ(MostPages(64, 2, kRoomyPool), 2u);
  EXPECT_EQ(MostPages(1000, kEndless, kRoomyPool), 16u);
  EXPECT_EQ(MostPages(1, kEndless, kRoomyPool), 16u);
  EXPECT_EQ(MostPages(1, kEndless, kSmallPool), 10u);
}

TEST(Memory, ARequestThatCanNeverFitIsRefusedWithBothNumbers) {
  RequireRoom(639, kEndless, kSmallPool);
  RequireRoom(640, 0, kSmallPool);
  ExpectExhausted({"640 tokens leave no room", "context of 640", "10 pages of 64", "1024"}, [] {
    RequireRoom(640, 1, kSmallPool);
  });
  ExpectExhausted({"641 tokens do not fit a context of 640"}, [] {
    RequireRoom(641, 0, kSmallPool);
  });
  ExpectExhausted({"1 tokens", "context of 0"}, [] { RequireRoom(1, 1, {1024, 64, 0}); });
}

TEST(Memory, ARequestBeyondTheModelsContextIsRefusedWithBothNumbers) {
  RequireRoom(1023, kEndless, kRoomyPool);
  RequireRoom(1024, 0, kRoomyPool);
  ExpectExhausted({"1024 tokens leave no room for an answer in a context of 1024"}, [] {
    RequireRoom(1024, 1, kRoomyPool);
  });
  try {
    RequireRoom(1025, 0, kRoomyPool);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "prompt: 1025 tokens do not fit a context of 1024");
  }
}

}  // namespace
}  // namespace hearth
