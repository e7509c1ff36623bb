// Writes GGUF files for tests: tiny models, and files to break on purpose. Shares nothing with the reader, so that
// neither hides the other's mistake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contracts/element_type.h"

namespace hearth {

// Where a number of the structure stands in the written bytes, for tests that set it to something else.
struct GgufField {
  enum class Kind {
    kMagic,
    kVersion,
    kCount,
    kLength,
    kValueType,
    kAxes,
    kAxis,
    kTensorType,
    kOffset,
    kValue
  };

  Kind kind;
  std::string what;    // for example "length of key 'general.name'"
  std::size_t offset;  // from the start of the file
  std::size_t bytes;   // width of the number
};

// Collects metadata and tensors in the order of the calls; then Bytes or WriteTo. Nothing is checked: a wrong file is
// often what a test wants.
class GgufWriter {
 public:
  explicit GgufWriter(std::uint32_t version = 3, std::uint32_t alignment = 32);

  GgufWriter& Uint8(std::string_view key, std::uint8_t value);
  GgufWriter& Int8(std::string_view key, std::int8_t value);
  GgufWriter& Uint16(std::string_view key, std::uint16_t value);
  GgufWriter& Int16(std::string_view key, std::int16_t value);
  GgufWriter& Uint32(std::string_view key, std::uint32_t value);
  GgufWriter& Int32(std::string_view key, std::int32_t value);
  GgufWriter& Uint64(std::string_view key, std::uint64_t value);
  GgufWriter& Int64(std::string_view key, std::int64_t value);
  GgufWriter& Float32(std::string_view key, float value);
  GgufWriter& Float64(std::string_view key, double value);
  GgufWriter& Bool(std::string_view key, bool value);
  GgufWriter& String(std::string_view key, std::string_view value);
  GgufWriter& Strings(std::string_view key, std::span<const std::string> values);
  GgufWriter& Floats(std::string_view key, std::span<const float> values);
  GgufWriter& Ints(std::string_view key, std::span<const std::int32_t> values);
  GgufWriter& Bools(std::string_view key, std::span<const std::uint8_t> values);

  // Any value: `type` is GGUF's number and `value` the bytes as stored.
  GgufWriter& Raw(std::string_view key, std::uint32_t type, std::span<const std::byte> value);

  // A tensor; dims innermost first, `data` as stored. It is placed at the next multiple of the alignment.
  GgufWriter& Tensor(
      std::string_view name,
      ElementType type,
      std::vector<std::uint64_t> dims,
      std::span<const std::byte> data
  );
  GgufWriter& Tensor(
      std::string_view name,
      std::uint32_t type_number,
      std::vector<std::uint64_t> dims,
      std::span<const std::byte> data
  );
  GgufWriter& FloatTensor(
      std::string_view name, std::vector<std::uint64_t> dims, std::span<const float> values
  );

  // The file so far. With `fields`, also where each number of the structure stands.
  std::vector<std::byte> Bytes(std::vector<GgufField>* fields = nullptr) const;

  // Errors: std::runtime_error when the file cannot be written.
  void WriteTo(const std::filesystem::path& path) const;

 private:
  struct Entry {
    std::string key;
    std::uint32_t type;
    std::vector<std::byte> value;
    std::vector<GgufField> fields;  // offsets from the start of the value
  };

  struct TensorEntry {
    std::string name;
    std::uint32_t type;
    std::vector<std::uint64_t> dims;
    std::vector<std::byte> data;
  };

  std::uint32_t version_;
  std::uint32_t alignment_;
  std::vector<Entry> entries_;
  std::vector<TensorEntry> tensors_;
};

}  // namespace hearth
