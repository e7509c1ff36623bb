#include "engine/memory.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <string>

#include "hearth/error.h"

namespace hearth {
namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMebibyte = std::size_t{1} << 20;

// Of the machine, for everything else that runs.
constexpr std::size_t kHeadroomShare = 8;
constexpr std::size_t kMostHeadroom = 2048 * kMebibyte;

// Address space of the program and its libraries, and what glibc's allocator reserves for a thread that allocates.
constexpr std::size_t kProgramMaps = 16 * kMebibyte;
constexpr std::size_t kThreadReservation = 64 * kMebibyte;

std::size_t Plus(std::size_t a, std::size_t b) {
  return b > kMost - a ? kMost : a + b;
}

std::size_t Minus(std::size_t a, std::size_t b) {
  return a > b ? a - b : 0;
}

std::size_t Times(std::size_t a, std::size_t b) {
  return a != 0 && b > kMost / a ? kMost : a * b;
}

std::size_t DividedUp(std::size_t a, std::size_t b) {
  return a / b + (a % b == 0 ? 0 : 1);
}

std::size_t ForwardBytes(const ForwardCost& cost, std::size_t tokens, std::size_t logit_rows) {
  return Plus(
      cost.fixed_bytes,
      Plus(Times(cost.token_bytes, tokens), Times(cost.logit_row_bytes, logit_rows))
  );
}

// Rounded away from each other, a need up and what there is down, they never look equal when they are not.
std::string NeededMegabytes(std::size_t bytes) {
  return std::to_string(DividedUp(bytes, 1'000'000)) + " MB";
}

std::string UsableMegabytes(std::size_t bytes) {
  return std::to_string(bytes / 1'000'000) + " MB";
}

}  // namespace

MemoryBudget BudgetFor(
    const MemoryLimits& limits, std::optional<std::size_t> asked, const MemoryFacts& facts
) {
  const std::size_t headroom = std::min(limits.physical / kHeadroomShare, kMostHeadroom);
  MemoryBudget budget;
  budget.usable_bytes =
      asked ? std::min(*asked, limits.physical) : Minus(limits.physical, headroom);
  budget.cache_bytes = asked ? kMost : limits.physical / 2;
  const std::size_t stacks = Times(facts.threads, limits.thread_stack);
  if (limits.data != kNoMemoryLimit) {
    // What is mapped counts in a plan and does not count here.
    const std::size_t usable = Plus(Minus(limits.data, stacks), facts.mapped_bytes);
    budget.usable_bytes = std::min(budget.usable_bytes, usable);
  }
  if (limits.address_space != kNoMemoryLimit) {
    std::size_t taken = Plus(stacks, Times(facts.threads, kThreadReservation));
    taken = Plus(taken, Plus(kProgramMaps, Minus(facts.file_bytes, facts.mapped_bytes)));
    budget.usable_bytes = std::min(budget.usable_bytes, Minus(limits.address_space, taken));
  }
  return budget;
}

std::size_t MemoryPlan::PagesOf(std::size_t tokens) const {
  return DividedUp(tokens, page_tokens);
}

std::size_t MemoryPlan::CacheBytes(std::size_t rows, std::size_t context) const {
  return Times(Times(rows, PagesOf(context)), page_bytes);
}

std::size_t MemoryPlan::TotalBytes(std::size_t rows, std::size_t context) const {
  return Plus(fixed_bytes, CacheBytes(rows, context));
}

bool MemoryPlan::Fits(std::size_t rows, std::size_t context) const {
  return context <= context_length && Times(rows, PagesOf(context)) <= pages && pages > 0;
}

std::string MemoryPlan::WhyNot(std::size_t rows, std::size_t context) const {
  if (context > context_length) {
    return "a context of " + std::to_string(context) + " tokens, the model's has " +
           std::to_string(context_length);
  }
  if (Fits(rows, context)) {
    return {};
  }
  if (TotalBytes(rows, context) > usable_bytes) {
    return NeededMegabytes(TotalBytes(rows, context)) + " wanted, " +
           UsableMegabytes(usable_bytes) + " usable";
  }
  return NeededMegabytes(CacheBytes(rows, context)) + " of cache wanted, " +
         UsableMegabytes(cache_bytes) + " usable for it";
}

std::size_t MemoryPlan::LargestContext() const {
  return std::min(context_length, Times(pages, page_tokens));
}

std::size_t MemoryPlan::RequirePages() const {
  if (pages == 0) {
    throw Error(
        ErrorCode::kResourceExhausted,
        "memory: the model takes " + NeededMegabytes(Plus(fixed_bytes, page_bytes)) +
            " with its work and the least cache, wanted at most " + UsableMegabytes(usable_bytes)
    );
  }
  return pages;
}

MemoryPlan PlanMemory(
    const MemoryFacts& facts, const StepSizes& steps, const MemoryBudget& budget
) {
  MemoryPlan plan{};
  plan.weight_bytes = Plus(facts.weight_bytes, facts.mapped_bytes);
  plan.activation_bytes = ForwardBytes(
      facts.forward,
      std::max({steps.batch, steps.step_tokens, steps.prefill_tokens}),
      Plus(steps.batch, steps.prompt_logit_rows)
  );
  plan.sampler_bytes = Times(steps.batch, facts.sampler_bytes);
  plan.reserve_bytes = facts.reserve_bytes;
  plan.fixed_bytes = Plus(
      Plus(plan.weight_bytes, plan.activation_bytes), Plus(plan.sampler_bytes, plan.reserve_bytes)
  );
  plan.usable_bytes = budget.usable_bytes;
  plan.cache_bytes = budget.cache_bytes;
  plan.page_bytes = facts.page_bytes;
  plan.page_tokens = facts.page_tokens;
  plan.context_length = facts.context_length;
  const std::size_t left = Minus(budget.usable_bytes, plan.fixed_bytes);
  const std::size_t useful = Times(2, Times(steps.batch, plan.PagesOf(facts.context_length)));
  plan.pages = std::min({left, budget.cache_bytes}) / facts.page_bytes;
  plan.pages = std::min(plan.pages, useful);
  return plan;
}

std::size_t RowsThatFit(
    const MemoryFacts& facts,
    const StepSizes& steps,
    const MemoryBudget& budget,
    std::size_t context
) {
  const auto fits = [&](std::size_t rows) {
    StepSizes sizes = steps;
    sizes.batch = rows;
    return PlanMemory(facts, sizes, budget).Fits(rows, context);
  };
  // More rows only ever take more.
  const auto rows = std::views::iota(std::size_t{1}, kMostPlannedRows + 1);
  return static_cast<std::size_t>(std::ranges::partition_point(rows, fits) - rows.begin());
}

std::size_t CacheSize::Context() const {
  return std::min(context_length, Times(pages, page_tokens));
}

std::size_t MostPages(std::size_t prompt, std::uint64_t max_tokens, const CacheSize& cache) {
  const std::size_t room = Minus(cache.Context(), prompt);
  const std::size_t answer = std::min(static_cast<std::size_t>(max_tokens), room);
  return DividedUp(Plus(prompt, Minus(answer, 1)), cache.page_tokens);
}

void RequireRoom(std::size_t prompt, std::uint64_t max_tokens, const CacheSize& cache) {
  const std::size_t answer = max_tokens == 0 ? 0 : 1;
  if (prompt <= Minus(cache.Context(), answer)) {
    return;
  }
  std::string message = "prompt: " + std::to_string(prompt) + " tokens " +
                        (answer == 0 ? "do not fit" : "leave no room for an answer in") +
                        " a context of " + std::to_string(cache.Context());
  if (cache.Context() < cache.context_length) {
    message += " (memory for " + std::to_string(cache.pages) + " pages of " +
               std::to_string(cache.page_tokens) + "; the model's has " +
               std::to_string(cache.context_length) + ")";
  }
  throw Error(ErrorCode::kResourceExhausted, message);
}

}  // namespace hearth
