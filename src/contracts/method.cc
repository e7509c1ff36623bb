#include "contracts/method.h"

#include "hearth/error.h"

namespace hearth {

Subscription& Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    Subscription ended(std::move(*this));
    unsubscribe_ = std::exchange(other.unsubscribe_, nullptr);
  }
  return *this;
}

Subscription::~Subscription() {
  try {
    Reset();
  } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor has nobody to tell
  }
}

void Subscription::Reset() {
  // A local, because the unsubscription may destroy this very object.
  if (const std::function<void()> unsubscribe = std::exchange(unsubscribe_, nullptr)) {
    unsubscribe();
  }
}

void Cancellation::ThrowIfCancelled() const {
  if (reason()) {
    throw Error(ErrorCode::kCancelled, "generation cancelled");
  }
}

}  // namespace hearth
