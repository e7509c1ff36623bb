#include "engine/resources.h"

#include <unordered_set>

namespace hearth {

void Attempts::Finish(const char* message) {
  std::vector<std::exception_ptr> errors = std::exchange(errors_, {});
  if (errors.size() == 1) {
    std::rethrow_exception(errors.front());
  }
  if (!errors.empty()) {
    throw AggregateError(message, std::move(errors));
  }
}

void DisposeAll(std::span<Disposable* const> resources) {
  std::unordered_set<Disposable*> seen;
  Attempts attempts;
  for (Disposable* resource : resources) {
    if (resource != nullptr && seen.insert(resource).second) {
      attempts.Attempt([resource] { resource->Dispose(); });
    }
  }
  attempts.Finish();
}

void CleanupFailure(const std::exception_ptr& error, const std::function<void()>& cleanup) {
  try {
    cleanup();
  } catch (...) {
    throw AggregateError("execution and cleanup failed", {error, std::current_exception()});
  }
  std::rethrow_exception(error);
}

}  // namespace hearth
