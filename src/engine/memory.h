// The admission model: what a model, its cache and the engine's steps take, against what there is to take. Pure arithmetic
// on numbers; nothing is measured, opened or allocated here.
//
// The pool of cache pages holds live rows and prompt cache together. A page gets memory when it is first used, so the pool's
// size is a ceiling and costs nothing by itself: a larger one is never slower to start. By default it is what the
// budget leaves, but
//   - at most half of the machine's memory, since a prompt cache fills what it may, and the machine is not ours alone; a
//     budget that the user names is his to fill, and has no such bound;
//   - at most twice what `batch` rows of the whole context take: once for them, and once for conversations that may come
//     back. More would keep what is hardly ever asked for again.
// Units: bytes where a name says so. Sums and products stop at the largest number instead of passing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "contracts/forward_cost.h"
#include "platform/memory_limits.h"

namespace hearth {

struct MemoryFacts {
  std::size_t weight_bytes = 0;  // in the process's own memory
  std::size_t mapped_bytes =
      0;  // weights that are read where the file is mapped, and so want to stay in memory too
  std::size_t file_bytes = 0;  // of the whole map
  ForwardCost forward;
  std::size_t page_bytes =
      0;  // of one page of the cache, with what else grows with the tokens in it
  std::size_t page_tokens = 0;
  std::size_t context_length = 0;  // of the model
  std::size_t sampler_bytes = 0;   // of a row
  std::size_t reserve_bytes = 0;   // program, tokenizer, threads, the text in hand
  std::size_t threads = 0;         // beside the first
};

// How large the engine's steps are (EngineLimits has the same names).
struct StepSizes {
  std::size_t batch = 32;
  std::size_t step_tokens = 256;
  std::size_t prefill_tokens = 512;
  std::size_t prompt_logit_rows =
      0;  // rows of logits of prompt positions in one forward; 0 without such requests
};

struct MemoryBudget {
  std::size_t usable_bytes = 0;
  std::size_t cache_bytes = 0;  // of which pages may take this much
};

// What may be used: the budget that was asked for, else the machine's memory without an eighth of it (at most 2 GiB)
// for everything else that runs. Never more than the machine has and the limits of the process let it have; these also
// pay for stacks, and RLIMIT_AS for the whole map and the allocator's reservations.
MemoryBudget BudgetFor(
    const MemoryLimits& limits, std::optional<std::size_t> asked, const MemoryFacts& facts
);

struct MemoryPlan {
  std::size_t weight_bytes;      // packed and mapped
  std::size_t activation_bytes;  // scratch and logits of the largest forward
  std::size_t sampler_bytes;     // of all rows
  std::size_t reserve_bytes;
  std::size_t fixed_bytes;  // the sum of these: everything but the cache
  std::size_t usable_bytes;
  std::size_t cache_bytes;  // that pages may take of them
  std::size_t page_bytes;
  std::size_t page_tokens;
  std::size_t context_length;  // of the model
  std::size_t pages;           // of the pool; 0 when not one fits

  std::size_t PagesOf(std::size_t tokens) const;

  // With the cache of `rows` rows of `context` tokens.
  std::size_t CacheBytes(std::size_t rows, std::size_t context) const;
  std::size_t TotalBytes(std::size_t rows, std::size_t context) const;
  bool Fits(std::size_t rows, std::size_t context) const;

  // Why they do not fit, in words with both numbers; empty when they do.
  std::string WhyNot(std::size_t rows, std::size_t context) const;

  // The longest that one request can become, prompt and answer together; 0 when nothing fits.
  std::size_t LargestContext() const;

  // EngineLimits::pages.
  // Errors: kResourceExhausted with both numbers when not one page fits.
  std::size_t RequirePages() const;
};

MemoryPlan PlanMemory(const MemoryFacts& facts, const StepSizes& steps, const MemoryBudget& budget);

// How many rows of `context` tokens fit at once, each with its own sampler and logits, up to kMostPlannedRows; steps.batch
// is not looked at.
inline constexpr std::size_t kMostPlannedRows = std::size_t{1} << 16;
std::size_t RowsThatFit(
    const MemoryFacts& facts,
    const StepSizes& steps,
    const MemoryBudget& budget,
    std::size_t context
);

// What a request meets: the model's context and the pool.
struct CacheSize {
  std::size_t context_length;
  std::size_t page_tokens;
  std::size_t pages;

  // Tokens of a request at most, prompt and answer together: where the context or the pool ends, an answer does too.
  std::size_t Context() const;
};

// Pages that a request holds at most. An answer of max_tokens need not be cached to its last token.
std::size_t MostPages(std::size_t prompt, std::uint64_t max_tokens, const CacheSize& cache);

// Whether the request can ever run, with the pool to itself. max_tokens bounds the answer and is no demand, so it does not
// matter how much of it fits, but for the first token (0 wants none).
// Errors: kResourceExhausted with both numbers, and with the pool's when it is the pool that ends the context.
void RequireRoom(std::size_t prompt, std::uint64_t max_tokens, const CacheSize& cache);

}  // namespace hearth
