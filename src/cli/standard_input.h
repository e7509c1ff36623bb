// Standard input as one text.
#pragma once

#include <cstddef>
#include <string>

namespace hearth {

inline constexpr std::size_t kMostStandardInput = std::size_t{16} << 20;

// All of it, to its end. Errors: kResourceExhausted past kMostStandardInput bytes, kIo.
std::string ReadStandardInput();

}  // namespace hearth
