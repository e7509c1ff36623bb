// Element types of tensors, as they stand in model files. Values only: sizes and names, no arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hearth {

// How the values of a tensor are stored. Quantized types come in blocks along the innermost axis.
enum class ElementType : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ8_0,
  kQ4_K,
  kQ6_K,
};

// Layout of one block: `values` consecutive values of a row take `bytes` bytes.
struct BlockLayout {
  std::size_t values;
  std::size_t bytes;
};

// Never fails; floats are blocks of one value.
BlockLayout LayoutOf(ElementType type);

// The name that model files and people use: "F32", "Q4_K", ...
std::string_view ElementTypeName(ElementType type);

}  // namespace hearth
