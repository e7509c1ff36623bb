// The ceiling over everything that collecting sessions may buffer together.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/resources.h"

namespace hearth {

// Counts reserved tokens; at the ceiling a reservation is refused, never delayed.
// Life:    must outlive its reservations.
// Threads: Reserve and the reservations belong to the engine loop; reserved() may be read from any thread (metrics).
// Errors:  Reserve throws Error(kResourceExhausted) for more than the ceiling, which can never fit, and
//          Error(kOverloaded) for more than is left now.
class OutputReservations {
 public:
  explicit OutputReservations(std::uint64_t max_tokens = 65'536) : max_tokens_(max_tokens) {}

  // Owns `tokens` of the ceiling until it is closed.
  Owned<std::uint64_t> Reserve(std::uint64_t tokens);

  std::uint64_t reserved() const { return reserved_.load(std::memory_order_relaxed); }

  std::uint64_t max_tokens() const { return max_tokens_; }

 private:
  std::uint64_t max_tokens_;
  std::atomic<std::uint64_t> reserved_{0};
};

}  // namespace hearth
