// Ownership of anything that must be given back: one owner, one end. Knows no concrete resource.
//
// Three rules hold everywhere in the engine and are written down here once:
//   - a resource is borrowed, transferred or closed; its release runs at most once;
//   - when many are released, every release is attempted, whatever the others do;
//   - no error hides another: one error surfaces as it is, several as one AggregateError that keeps all.
#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "contracts/aggregate_error.h"
#include "hearth/error.h"

namespace hearth {

// Holds one value together with the function that gives it back.
// Life:      owning from construction until Transfer, Close, destruction or being moved from, whichever is first;
//            ended for ever after. Ownership ends before the release function runs, so a release that calls back
//            into its owner finds it ended, and a release that fails is never tried again.
// Ownership: the owner keeps the value; Borrow lends it for as long as ownership lasts.
// Threads:   none of its own; one thread at a time.
// Errors:    Borrow and Transfer throw Error(kInternal) "resource ownership has ended" once it has. Close lets the
//            release's error through. The destructor closes too, as the last resort, and must drop such an error:
//            who wants to see it calls Close.
template <class T>
class Owned {
 public:
  Owned(T value, std::function<void(T)> release)
      : held_(std::in_place, std::move(value)), release_(std::move(release)) {}

  Owned(Owned&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : held_(std::move(other.held_)), release_(std::move(other.release_)) {
    other.held_.reset();
  }

  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Owned& operator=(Owned&&) = delete;  // the value that it replaces would have to be closed unseen

  ~Owned() {
    try {
      Close();
    } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor has nobody to tell
    }
  }

  // The value, still owned here.
  T& Borrow() {
    if (!held_) {
      throw Error(ErrorCode::kInternal, "resource ownership has ended");
    }
    return *held_;
  }

  // Gives the value up without releasing it: the caller owns it now.
  T Transfer() {
    T result = std::move(Borrow());
    held_.reset();
    release_ = nullptr;
    return result;
  }

  // Releases the value. Does nothing once ownership has ended.
  void Close() {
    if (!held_) {
      return;
    }
    T value = std::move(*held_);
    held_.reset();
    // A local, because the release may destroy this very object.
    const std::function<void(T)> release = std::exchange(release_, nullptr);
    release(std::move(value));
  }

 private:
  std::optional<T> held_;
  std::function<void(T)> release_;
};

// Something that can be given back once.
class Disposable {
 public:
  virtual ~Disposable() = default;
  virtual void Dispose() = 0;
};

// Runs several actions, each whatever the others do, and keeps what they throw.
// Errors: Attempt swallows nothing for good: Finish throws a single error as it is, several as an AggregateError
//         with the given message in the order of the attempts, and nothing when all went well.
class Attempts {
 public:
  template <std::invocable Action>
  void Attempt(Action&& action) {
    try {
      std::forward<Action>(action)();
    } catch (...) {
      errors_.push_back(std::current_exception());
    }
  }

  void Finish(const char* message = "resource cleanup failed");

 private:
  std::vector<std::exception_ptr> errors_;
};

// Disposes each distinct resource exactly once, at its first position in the list; all are attempted. Null is skipped.
// Errors: as Attempts, with the message "resource cleanup failed".
void DisposeAll(std::span<Disposable* const> resources);

// Ends a failed piece of work: runs the cleanup once, then throws `error` as it is, or, when the cleanup fails,
// AggregateError "execution and cleanup failed" with [error, cleanup error]. Never returns.
[[noreturn]] void CleanupFailure(
    const std::exception_ptr& error, const std::function<void()>& cleanup
);

// Scoped use: calls use(owner.Borrow()) and closes the owner exactly once, whether that succeeds or fails.
// `owner` is an Owned or anything else with Borrow and Close. The result is a value, never a reference into the
// resource, which is gone by then.
// Errors: success, then a failing close: the close's error, the result is lost. A failing borrow or use: the rule of
//         CleanupFailure. The reference engine closes a second time on that path, which an idempotent owner does not
//         notice; with any other owner the second close's error would replace the first two. Here nothing is lost.
template <class Owner, class Use>
auto WithResource(Owner& owner, Use&& use)
    -> std::decay_t<std::invoke_result_t<Use, decltype(owner.Borrow())>> {
  using Result = std::decay_t<std::invoke_result_t<Use, decltype(owner.Borrow())>>;
  const auto attempt = [&]() -> Result {
    try {
      return std::forward<Use>(use)(owner.Borrow());
    } catch (...) {
      CleanupFailure(std::current_exception(), [&] { owner.Close(); });
    }
  };
  if constexpr (std::is_void_v<Result>) {
    attempt();
    owner.Close();
  } else {
    Result result = attempt();
    owner.Close();
    return result;
  }
}

}  // namespace hearth
