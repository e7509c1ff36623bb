// The events of one session that nobody has read yet: first in, first out, bounded in events and in tokens.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "hearth/generation.h"

namespace hearth {

// Bound:   at most `max_events` events that hold at most `max_tokens` token ids together. Whoever pushes asks HasRoom
//          first and waits while there is none; a push beyond the bound would be our own fault and throws
//          Error(kInternal).
// Threads: one at a time.
class EventQueue {
 public:
  EventQueue(std::size_t max_events, std::size_t max_tokens)
      : max_events_(max_events), max_tokens_(max_tokens) {}

  // Whether an event with this many token ids fits now; a progress event has 0.
  bool HasRoom(std::size_t tokens) const;

  void Push(GenerationEvent event);

  // The oldest event, or nothing.
  std::optional<GenerationEvent> Pop();

  void Clear();

  std::size_t events() const { return events_.size(); }

  std::size_t tokens() const { return tokens_; }

 private:
  std::size_t max_events_;
  std::size_t max_tokens_;
  std::deque<GenerationEvent> events_;
  std::size_t tokens_ = 0;
};

}  // namespace hearth
