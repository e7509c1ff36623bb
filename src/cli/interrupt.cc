#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace hearth {
namespace {

std::atomic<bool> pressed = false;
struct sigaction before;

void OnInterrupt(int) {
  pressed = true;
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
