#include "platform/random_seed.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "hearth/error.h"

namespace hearth {

std::uint64_t FreshSeed() {
  std::uint64_t seed = 0;
  // Requests of up to 256 bytes come whole once the generator is ready; a signal may only interrupt the wait.
  for (;;) {
    const ssize_t got = getrandom(&seed, sizeof seed, 0);
    if (got == static_cast<ssize_t>(sizeof seed)) {
      return seed;
    }
    if (got < 0 && errno != EINTR) {
      throw Error(
          ErrorCode::kIo,
          std::string("fresh seed: getrandom got ") + std::strerror(errno) + ", wanted 8 bytes"
      );
    }
  }
}

}  // namespace hearth
