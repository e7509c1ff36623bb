#include "cli/complaint.h"

#include <cstdio>
#include <string>

#include "contracts/printable.h"

namespace hearth {
namespace {

constexpr std::size_t kMostBytes = 1000;

}  // namespace

void Complain(std::string_view message) noexcept {
  try {
    const std::string line = "hearth: " + Printable(message, kMostBytes) + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (...) {
    std::fputs("hearth: out of memory\n", stderr);
  }
}

}  // namespace hearth
