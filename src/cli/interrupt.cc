#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace hearth {
namespace {

std::atomic<bool> pressed = false;
struct sigaction before;

void OnInterrupt(int) {
  if (pressed.exchange(true)) {
    // Whoever presses twice will not wait for the next safe place.
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
}

}  // namespace

InterruptScope::InterruptScope() {
  Clear();
  struct sigaction action{};
  action.sa_handler = OnInterrupt;  // no SA_RESTART: a read of the terminal ends too
  sigaction(SIGINT, &action, &before);
}

InterruptScope::~InterruptScope() {
  sigaction(SIGINT, &before, nullptr);
}

bool InterruptScope::Pressed() {
  return pressed;
}

void InterruptScope::Clear() {
  pressed = false;
}

}  // namespace hearth
