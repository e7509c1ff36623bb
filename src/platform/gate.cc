#include "platform/gate.h"

#include <mutex>

namespace hearth {

struct Gate::State {
  std::mutex mutex;
  bool shut = false;
};

Gate::Gate() : state_(std::make_unique<State>()) {
}

Gate::~Gate() = default;

bool Gate::Enter(const std::function<void()>& action) {
  const std::lock_guard lock(state_->mutex);
  if (state_->shut) {
    return false;
  }
  action();
  return true;
}

void Gate::Shut() {
  const std::lock_guard lock(state_->mutex);
  state_->shut = true;
}

}  // namespace hearth
