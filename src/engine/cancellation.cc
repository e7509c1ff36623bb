#include "engine/cancellation.h"

#include <utility>

#include "engine/resources.h"

namespace hearth {

CancellationSource::CancellationSource() : state_(std::make_shared<State>()) {
}

void CancellationSource::Cancel(CancelReason reason) {
  // A local: a listener may destroy the source.
  const std::shared_ptr<State> state = state_;
  if (state->reason) {
    return;
  }
  state->reason = reason;
  Attempts attempts;
  while (!state->listeners.empty()) {
    // Taken out one by one, so that a listener can still unsubscribe those after it.
    const auto listener = state->listeners.extract(state->listeners.begin());
    attempts.Attempt([&] { listener.mapped()(reason); });
  }
  attempts.Finish("cancellation listeners failed");
}

std::optional<CancelReason> CancellationSource::reason() const {
  return state_->reason;
}

Subscription CancellationSource::Subscribe(std::function<void(CancelReason)> listener) {
  if (state_->reason) {
    listener(*state_->reason);
    return {};
  }
  const std::uint64_t id = state_->next_id++;
  state_->listeners.emplace(id, std::move(listener));
  return Subscription([weak = std::weak_ptr(state_), id] {
    if (const std::shared_ptr<State> state = weak.lock()) {
      state->listeners.erase(id);
    }
  });
}

}  // namespace hearth
