// What an operator can see of a running engine: plain numbers of one moment.
#pragma once

#include <cstdint>

namespace hearth {

// Each number is right at some moment; together they may be of moments a step apart.
struct EngineSnapshot {
  // Now. All zero when nothing is asked for, but for the pages, which the prompt cache may keep.
  std::uint64_t sessions = 0;      // opened and not ended
  std::uint64_t queued = 0;        // requests that wait for a row
  std::uint64_t preparing = 0;     // rows whose prompt is being computed
  std::uint64_t active = 0;        // rows that decode
  std::uint64_t parked = 0;        // rows whose reader has no room
  std::uint64_t leases = 0;        // residency
  std::uint64_t pages_used = 0;    // by rows, the prompt cache, or both
  std::uint64_t pages_cached = 0;  // by the prompt cache

  // Since the start.
  std::uint64_t steps = 0;
  std::uint64_t prompt_tokens = 0;     // forwarded
  std::uint64_t generated_tokens = 0;  // sampled
  std::uint64_t preemptions = 0;       // rows that gave their pages up and came back
  std::uint64_t cache_hits = 0;
  std::uint64_t cache_misses = 0;
  std::uint64_t cached_tokens = 0;  // prompt tokens that were not forwarded again

  bool operator==(const EngineSnapshot&) const = default;
};

}  // namespace hearth
