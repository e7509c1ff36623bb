// Reads the structure of a GGUF model file, versions 2 and 3: metadata and the directory of tensors. Every count,
// length, type and offset is checked before it is used; nothing of the tensors' contents is read.
// Source: the GGUF specification in ggml's docs/gguf.md. Layout (little-endian):
//   "GGUF", uint32 version, uint64 tensors, uint64 metadata entries;
//   an entry:  string key, uint32 type, value. A string is a uint64 length and its bytes; an array is a uint32
//              element type, a uint64 count and its elements, which may be arrays;
//   a tensor:  string name, uint32 axes, uint64 length of each axis (innermost first), uint32 type,
//              uint64 offset in the data section, a multiple of the alignment;
//   padding to the alignment ("general.alignment", else 32), then the data section.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf_types.h"
#include "formats/tensor_descriptor.h"

namespace hearth {

// Limits of what is read; a file past one is refused with Error(kResourceExhausted).
inline constexpr std::uint64_t kMaxGgufMetadataEntries = std::uint64_t{1} << 16;
inline constexpr std::uint64_t kMaxGgufTensors = std::uint64_t{1} << 17;
inline constexpr std::uint64_t kMaxGgufKeyBytes = 65535;  // the specification's own limit
inline constexpr std::uint64_t kMaxGgufStringBytes = std::uint64_t{1} << 24;
inline constexpr std::uint64_t kMaxGgufArrayElements = std::uint64_t{1} << 24;
inline constexpr int kMaxGgufArrayDepth = 4;                   // an array of numbers has depth 1
inline constexpr std::uint64_t kMaxGgufTensorNameBytes = 255;  // the specification allows 64
inline constexpr std::uint32_t kMaxGgufAxes = 4;
inline constexpr std::uint32_t kDefaultGgufAlignment = 32;
inline constexpr std::uint32_t kMinGgufAlignment = 8;
inline constexpr std::uint32_t kMaxGgufAlignment = 1u << 20;

// One metadata entry. A view into the file's bytes, already checked: strings and elements lie wholly inside, a
// bool is 0 or 1. Read it with gguf_metadata.h.
struct GgufEntry {
  std::string_view key;  // not empty; bytes as in the file
  GgufValueType type{};
  GgufValueType element_type{};      // of an array, else the same as type
  std::uint64_t count = 1;           // elements of an array
  std::span<const std::byte> bytes;  // the value: a string's text, or an array's elements as stored
};

// A parsed file.
// Ownership: borrows the bytes, which must outlive it and its entries.
// Threads:   immutable, safe to share.
class GgufFile {
 public:
  // Parses. `name` stands at the start of every message.
  // Errors: Error(kCorruptData) for broken bytes, Error(kUnsupported) for another version or byte order,
  //         Error(kResourceExhausted) past a limit above.
  // Cost:   one pass over metadata and directory, sorting by key, name and offset; memory in proportion to
  //         the entries, not to the values.
  GgufFile(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }

  std::uint32_t version() const { return version_; }

  std::uint32_t alignment() const { return alignment_; }

  // In the order of the file.
  const std::vector<GgufEntry>& metadata() const { return metadata_; }

  // In the order of the file; no two overlap, each lies wholly inside (as far as its size is known).
  const std::vector<TensorDescriptor>& tensors() const { return tensors_; }

  // Null when there is none.
  const GgufEntry* Find(std::string_view key) const;
  const TensorDescriptor* FindTensor(std::string_view name) const;

  // The stored bytes of a tensor of this file; empty when the size of its type is not known.
  std::span<const std::byte> BytesOf(const TensorDescriptor& tensor) const;

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
  std::uint32_t version_ = 0;
  std::uint32_t alignment_ = kDefaultGgufAlignment;
  std::vector<GgufEntry> metadata_;
  std::vector<std::size_t> by_key_;  // indices of metadata_, sorted by key
  std::vector<TensorDescriptor> tensors_;
  std::vector<std::size_t> by_name_;  // indices of tensors_, sorted by name
};

}  // namespace hearth
