// What an operator can see of the engine at any moment, without waiting for it.
#pragma once

#include <atomic>
#include <cstdint>

namespace hearth {

// Threads: written by the engine loop, read by anyone. Each value is right at some moment; together they may be of
//          moments a step apart.
struct EngineGauges {
  // Now: all zero when nothing is asked for, but for pages_cached and pages_used, which the prompt cache may keep.
  std::atomic<std::uint64_t> sessions{0};      // opened and not terminal
  std::atomic<std::uint64_t> queued{0};        // requests that wait for a row
  std::atomic<std::uint64_t> preparing{0};     // rows whose prompt is being computed
  std::atomic<std::uint64_t> active{0};        // rows that decode
  std::atomic<std::uint64_t> parked{0};        // rows whose reader has no room
  std::atomic<std::uint64_t> leases{0};        // residency
  std::atomic<std::uint64_t> pages_used{0};    // by rows, the prompt cache, or both
  std::atomic<std::uint64_t> pages_cached{0};  // by the prompt cache

  // Since the start.
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> prompt_tokens{0};     // forwarded
  std::atomic<std::uint64_t> generated_tokens{0};  // sampled
  std::atomic<std::uint64_t> preemptions{0};       // rows that gave their pages up and came back
  std::atomic<std::uint64_t> cache_hits{0};
  std::atomic<std::uint64_t> cache_misses{0};
  std::atomic<std::uint64_t> cached_tokens{0};  // prompt tokens that were not forwarded again
};

}  // namespace hearth
