// Token ids as every layer speaks them.
#pragma once

#include <cstdint>

namespace hearth {

// An index into a model's vocabulary, 0 .. vocabulary size - 1.
using TokenId = std::uint32_t;

}  // namespace hearth
