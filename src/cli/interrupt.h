// Ctrl-C as a flag that work asks for, instead of the end of the program.
#pragma once

namespace hearth {

// While it lives, SIGINT sets a flag, and a second one before Clear ends the program; afterwards the earlier handling is back. One at a time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // Whether Ctrl-C was pressed since the last Clear.
  static bool Pressed();
  static void Clear();
};

}  // namespace hearth
