#include "engine/event_queue.h"

#include <utility>

#include "hearth/error.h"

namespace hearth {
namespace {

std::size_t TokensOf(const GenerationEvent& event) {
  const auto* committed = std::get_if<CommittedTokens>(&event);
  return committed == nullptr ? 0 : committed->token_ids.size();
}

}  // namespace

bool EventQueue::HasRoom(std::size_t tokens) const {
  return events_.size() < max_events_ && tokens <= max_tokens_ && tokens_ <= max_tokens_ - tokens;
}

void EventQueue::Push(GenerationEvent event) {
  const std::size_t tokens = TokensOf(event);
  if (!HasRoom(tokens)) {
    throw Error(ErrorCode::kInternal, "event queue: got an event without room for it");
  }
  events_.push_back(std::move(event));
  tokens_ += tokens;
}

std::optional<GenerationEvent> EventQueue::Pop() {
  std::optional<GenerationEvent> event;
  if (!events_.empty()) {
    tokens_ -= TokensOf(events_.front());
    event.emplace(std::move(events_.front()));
    events_.pop_front();
  }
  return event;
}

void EventQueue::Clear() {
  events_.clear();
  tokens_ = 0;
}

}  // namespace hearth
