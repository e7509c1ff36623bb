// Typed reading of GGUF metadata. Each function says in its error which file, which key, what stands there and what
// was wanted: "model.gguf: key 'llama.block_count' is string, wanted an unsigned integer".
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf.h"

namespace hearth {

// Bounds of a number, both allowed.
struct UnsignedRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

// Find...: none when the key does not exist. Require...: that is an error too.
// Errors: Error(kCorruptData) for a missing key, another type or a value out of range.
// Cost:   in proportion to the value; strings are copied.

// Any integer type, signed ones when they are not negative.
std::optional<std::uint64_t> FindUnsigned(
    const GgufFile& file, std::string_view key, UnsignedRange range = {}
);
std::uint64_t RequireUnsigned(const GgufFile& file, std::string_view key, UnsignedRange range = {});

// float32 or float64; infinities and NaN are refused.
std::optional<double> FindFloat(const GgufFile& file, std::string_view key);

std::optional<bool> FindBool(const GgufFile& file, std::string_view key);

std::optional<std::string> FindString(const GgufFile& file, std::string_view key);
std::string RequireString(const GgufFile& file, std::string_view key);

// Arrays. The element type is checked before an element is read.
std::optional<std::vector<std::string>> FindStrings(const GgufFile& file, std::string_view key);
std::vector<std::string> RequireStrings(const GgufFile& file, std::string_view key);
std::optional<std::vector<float>> FindFloats(
    const GgufFile& file, std::string_view key
);  // float32
std::optional<std::vector<std::int64_t>> FindIntegers(
    const GgufFile& file, std::string_view key
);  // all but uint64

// Elements of an array without reading them; an error when the key is no array.
std::optional<std::uint64_t> FindArrayLength(const GgufFile& file, std::string_view key);

// What stands in an entry, for messages and listings: "uint32", "array of string".
std::string DescribeType(const GgufEntry& entry);

}  // namespace hearth
