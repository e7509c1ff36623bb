// Unaligned loads for the portable kernels.
#pragma once

#include <cstddef>
#include <cstring>

namespace hearth::portable {

// A value of type T at any address.
template <typename T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace hearth::portable
