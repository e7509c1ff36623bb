// A door between threads: open at first, then shut for good.
#pragma once

#include <functional>
#include <memory>

namespace hearth {

// Threads: any.
class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Runs `action` and returns true, or returns false because the gate is shut. One action runs at a time; it must be short
  // and must not come back to the gate.
  // Errors: those of `action`.
  bool Enter(const std::function<void()>& action);

  // When this returns, no action runs and none will. May be called again.
  void Shut();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
