// The numbers that GGUF files use for types: of metadata values and of tensor elements.
// Source: the GGUF specification in ggml's docs/gguf.md and the type list of ggml.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "contracts/element_type.h"

namespace hearth {

enum class GgufValueType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// None when the number names no type.
std::optional<GgufValueType> GgufValueTypeOf(std::uint32_t number);

// "uint32", "string", "array", ...
std::string_view GgufValueTypeName(GgufValueType type);

// Bytes of one value; 0 for strings and arrays, whose size stands in the file.
std::size_t GgufValueBytes(GgufValueType type);

// A tensor type of ggml, also those that hearth cannot compute with.
struct GgufTensorType {
  std::string_view name;
  BlockLayout layout;
  std::uint32_t number;
  std::optional<ElementType> type;  // set when hearth can compute with it
};

// Null when the number is not known.
const GgufTensorType* FindGgufTensorType(std::uint32_t number);

}  // namespace hearth
