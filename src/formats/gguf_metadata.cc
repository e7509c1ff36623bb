#include "formats/gguf_metadata.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>

#include "contracts/printable.h"
#include "hearth/error.h"

namespace hearth {
namespace {

[[noreturn]] void Fail(const GgufFile& file, std::string_view key, const std::string& what) {
  throw Error(
      ErrorCode::kCorruptData, fmt::format("{}: key '{}' {}", file.name(), Printable(key), what)
  );
}

[[noreturn]] void WrongType(const GgufFile& file, const GgufEntry& entry, std::string_view wanted) {
  Fail(file, entry.key, fmt::format("is {}, wanted {}", DescribeType(entry), wanted));
}

template <typename T>
T Require(const GgufFile& file, std::string_view key, std::optional<T> found) {
  if (!found) {
    Fail(file, key, "is missing");
  }
  return *std::move(found);
}

template <typename T>
T Load(std::span<const std::byte> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

template <typename T>
std::vector<std::int64_t> Widen(const GgufEntry& entry) {
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(entry.count));
  for (std::size_t at = 0; at < entry.bytes.size(); at += sizeof(T)) {
    values.push_back(static_cast<std::int64_t>(Load<T>(entry.bytes.subspan(at))));
  }
  return values;
}

// All elements of an array of integers, or the one value of an integer; none for other types. uint64 is kept apart,
// since it does not fit.
std::optional<std::vector<std::int64_t>> IntegersOf(const GgufEntry& entry) {
  switch (entry.element_type) {
    case GgufValueType::kUint8:
      return Widen<std::uint8_t>(entry);
    case GgufValueType::kInt8:
      return Widen<std::int8_t>(entry);
    case GgufValueType::kUint16:
      return Widen<std::uint16_t>(entry);
    case GgufValueType::kInt16:
      return Widen<std::int16_t>(entry);
    case GgufValueType::kUint32:
      return Widen<std::uint32_t>(entry);
    case GgufValueType::kInt32:
      return Widen<std::int32_t>(entry);
    case GgufValueType::kInt64:
      return Widen<std::int64_t>(entry);
    case GgufValueType::kUint64:
    case GgufValueType::kFloat32:
    case GgufValueType::kFloat64:
    case GgufValueType::kBool:
    case GgufValueType::kString:
    case GgufValueType::kArray:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::string DescribeType(const GgufEntry& entry) {
  if (entry.type != GgufValueType::kArray) {
    return std::string(GgufValueTypeName(entry.type));
  }
  return fmt::format("array of {}", GgufValueTypeName(entry.element_type));
}

std::optional<std::uint64_t> FindUnsigned(
    const GgufFile& file, std::string_view key, UnsignedRange range
) {
  const GgufEntry* entry = file.Find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  if (entry->type == GgufValueType::kUint64) {
    value = Load<std::uint64_t>(entry->bytes);
  } else {
    const auto number = entry->type == GgufValueType::kArray ? std::nullopt : IntegersOf(*entry);
    if (!number) {
      WrongType(file, *entry, "an unsigned integer");
    }
    if (number->front() < 0) {
      Fail(
          file, key, fmt::format("is {}, wanted {} to {}", number->front(), range.least, range.most)
      );
    }
    value = static_cast<std::uint64_t>(number->front());
  }
  if (value < range.least || value > range.most) {
    Fail(file, key, fmt::format("is {}, wanted {} to {}", value, range.least, range.most));
  }
  return value;
}

std::uint64_t RequireUnsigned(const GgufFile& file, std::string_view key, UnsignedRange range) {
  return Require(file, key, FindUnsigned(file, key, range));
}

std::optional<double> FindFloat(const GgufFile& file, std::string_view key) {
  const GgufEntry* entry = file.Find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  double value = 0;
  if (entry->type == GgufValueType::kFloat32) {
    value = static_cast<double>(Load<float>(entry->bytes));
  } else if (entry->type == GgufValueType::kFloat64) {
    value = Load<double>(entry->bytes);
  } else {
    WrongType(file, *entry, "a float");
  }
  if (!std::isfinite(value)) {
    Fail(file, key, fmt::format("is {}, wanted a finite number", value));
  }
  return value;
}

std::optional<bool> FindBool(const GgufFile& file, std::string_view key) {
  const GgufEntry* entry = file.Find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  if (entry->type != GgufValueType::kBool) {
    WrongType(file, *entry, "a bool");
  }
  return entry->bytes[0] != std::byte{0};
}

std::optional<std::string> FindString(const GgufFile& file, std::string_view key) {
  const GgufEntry* entry = file.Find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  if (entry->type != GgufValueType::kString) {
    WrongType(file, *entry, "a string");
  }
  return std::string(reinterpret_cast<const char*>(entry->bytes.data()), entry->bytes.size());
}

std::string RequireString(const GgufFile& file, std::string_view key) {
  return Require(file, key, FindString(file, key));
}

std::optional<std::vector<std::string>> FindStrings(const GgufFile& file, std::string_view key) {
  const GgufEntry* entry = file.Find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  if (entry->type != GgufValueType::kArray || entry->element_type != GgufValueType::kString) {
    WrongType(file, *entry, "an array of strings");
  }
  std::vector<std::string> strings;
  strings.reserve(static_cast<std::size_t>(entry->count));
  std::span<const std::byte> rest = entry->bytes;
  for (std::uint64_t i = 0; i < entry->count; ++i) {
    // The parse proved these lengths; a mapped file that is written to meanwhile could still change them.
    const std::uint64_t length = rest.size() < 8 ? 0 : Load<std::uint64_t>(rest);
    if (rest.size() < 8 || length > rest.size() - 8) {
      Fail(file, key, "changed while it was read");
    }
    strings.emplace_back(
        reinterpret_cast<const char*>(rest.data() + 8), static_cast<std::size_t>(length)
    );
    rest = rest.subspan(8 + static_cast<std::size_t>(length));
  }
  return strings;
}

std::vector<std::string> RequireStrings(const GgufFile& file, std::string_view key) {
  return Require(file, key, FindStrings(file, key));
}

std::optional<std::vector<float>> FindFloats(const GgufFile& file, std::string_view key) {
  const GgufEntry* entry = file.Find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  if (entry->type != GgufValueType::kArray || entry->element_type != GgufValueType::kFloat32) {
    WrongType(file, *entry, "an array of float32");
  }
  std::vector<float> values(static_cast<std::size_t>(entry->count));
  if (!values.empty()) {
    std::memcpy(values.data(), entry->bytes.data(), entry->bytes.size());
  }
  return values;
}

std::optional<std::vector<std::int64_t>> FindIntegers(const GgufFile& file, std::string_view key) {
  const GgufEntry* entry = file.Find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  auto values = entry->type == GgufValueType::kArray ? IntegersOf(*entry) : std::nullopt;
  if (!values) {
    WrongType(file, *entry, "an array of integers");
  }
  return values;
}

std::optional<std::uint64_t> FindArrayLength(const GgufFile& file, std::string_view key) {
  const GgufEntry* entry = file.Find(key);
  if (entry == nullptr) {
    return std::nullopt;
  }
  if (entry->type != GgufValueType::kArray) {
    WrongType(file, *entry, "an array");
  }
  return entry->count;
}

}  // namespace hearth
