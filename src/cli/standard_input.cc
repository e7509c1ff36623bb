#include "cli/standard_input.h"

#include <fmt/core.h>

#include <cstdio>

#include "hearth/error.h"

namespace hearth {

std::string ReadStandardInput() {
  std::string text;
  char buffer[65536];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) {
    text.append(buffer, count);
    if (text.size() > kMostStandardInput) {
      throw Error(
          ErrorCode::kResourceExhausted,
          fmt::format("standard input: more than {} bytes", kMostStandardInput)
      );
    }
  }
  if (std::ferror(stdin) != 0) {
    throw Error(ErrorCode::kIo, "standard input: cannot be read to its end");
  }
  return text;
}

}  // namespace hearth
