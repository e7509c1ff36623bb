// Whether tile instructions (AMX) work here. Knows the operating system's permission and the instructions, not kernels.
#pragma once

namespace hearth {

// Asks the operating system for the tile registers, for the whole process and for good, then executes one
// bfloat16 and one byte product under a handler and compares the results: a virtual machine may advertise the
// instructions and not have them.
// Threads: call once, from one thread: it replaces the process's SIGILL handler for a few microseconds.
// Errors:  none; false where anything is missing, also when a thread's alternate signal stack is too
//          small for the tile registers, for which the system refuses the permission.
bool ProbeAmx();

}  // namespace hearth
