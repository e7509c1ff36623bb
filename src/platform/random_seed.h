// Entropy for requests that name no seed. Knows nothing of what the seed is for.
#pragma once

#include <cstdint>

namespace hearth {

// 64 bits from the operating system's generator, fresh at each call: two requests, two rows and two processes that
// start in the same instant get different values.
// Threads: safe from any thread.
// Errors:  Error(kIo) when the system has no generator or refuses.
// Cost:    one system call; waits only before the system's generator is first ready after boot.
std::uint64_t FreshSeed();

}  // namespace hearth
