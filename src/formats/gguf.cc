#include "formats/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "contracts/printable.h"
#include "formats/gguf_cursor.h"
#include "hearth/error.h"

namespace hearth {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF numbers are copied as they stand");

// The least bytes that an entry or a tensor takes, to refuse absurd counts before memory is asked for.
constexpr std::uint64_t kLeastEntryBytes = 8 + 1 + 4 + 1;
constexpr std::uint64_t kLeastTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;
constexpr std::size_t kArrayHeadBytes = 4 + 8;

GgufValueType TakeType(GgufCursor& cursor, std::string_view where) {
  const auto number = cursor.Number<std::uint32_t>(where);
  const auto type = GgufValueTypeOf(number);
  if (!type) {
    cursor.Corrupt(fmt::format("{}: value type {}, wanted 0 to 12", where, number));
  }
  return *type;
}

void CheckBools(
    const GgufCursor& cursor, std::span<const std::byte> values, std::string_view where
) {
  for (const std::byte value : values) {
    if (value > std::byte{1}) {
      cursor.Corrupt(
          fmt::format("{}: a bool is {}, wanted 0 or 1", where, std::to_integer<int>(value))
      );
    }
  }
}

void WalkElements(
    GgufCursor& cursor, GgufValueType type, std::uint64_t count, int depth, std::string_view where
);

// Reads an array's head and passes over its elements.
std::pair<GgufValueType, std::uint64_t> WalkArray(
    GgufCursor& cursor, int depth, std::string_view where
) {
  if (depth > kMaxGgufArrayDepth) {
    cursor.Fail(
        ErrorCode::kResourceExhausted,
        fmt::format("{}: arrays nest deeper than {}", where, kMaxGgufArrayDepth)
    );
  }
  const GgufValueType type = TakeType(cursor, where);
  const std::uint64_t count = cursor.Count(kMaxGgufArrayElements, where, "elements");
  WalkElements(cursor, type, count, depth, where);
  return {type, count};
}

void WalkElements(
    GgufCursor& cursor, GgufValueType type, std::uint64_t count, int depth, std::string_view where
) {
  if (type == GgufValueType::kArray) {
    for (std::uint64_t i = 0; i < count; ++i) {
      WalkArray(cursor, depth + 1, where);
    }
  } else if (type == GgufValueType::kString) {
    for (std::uint64_t i = 0; i < count; ++i) {
      cursor.String(kMaxGgufStringBytes, where);
    }
  } else {
    const auto values = cursor.Take(count * GgufValueBytes(type), where);
    if (type == GgufValueType::kBool) {
      CheckBools(cursor, values, where);
    }
  }
}

GgufEntry ReadEntry(GgufCursor& cursor, std::span<const std::byte> bytes, std::uint64_t index) {
  GgufEntry entry;
  entry.key = TextOf(cursor.String(kMaxGgufKeyBytes, fmt::format("metadata key {}", index)));
  if (entry.key.empty()) {
    cursor.Corrupt(fmt::format("metadata key {} is empty", index));
  }
  const std::string where = fmt::format("key '{}'", Printable(entry.key));
  entry.type = TakeType(cursor, where);
  entry.element_type = entry.type;
  if (entry.type == GgufValueType::kString) {
    entry.bytes = cursor.String(kMaxGgufStringBytes, where);
  } else if (entry.type == GgufValueType::kArray) {
    const std::size_t head = cursor.position();
    std::tie(entry.element_type, entry.count) = WalkArray(cursor, 1, where);
    entry.bytes = bytes.subspan(head, cursor.position() - head).subspan(kArrayHeadBytes);
  } else {
    entry.bytes = cursor.Take(GgufValueBytes(entry.type), where);
    if (entry.type == GgufValueType::kBool) {
      CheckBools(cursor, entry.bytes, where);
    }
  }
  return entry;
}

std::uint32_t AlignmentOf(const GgufCursor& cursor, const GgufEntry* entry) {
  if (entry == nullptr) {
    return kDefaultGgufAlignment;
  }
  if (entry->type != GgufValueType::kUint32) {
    cursor.Corrupt(
        fmt::format("key 'general.alignment' is {}, wanted uint32", GgufValueTypeName(entry->type))
    );
  }
  std::uint32_t alignment = 0;
  std::memcpy(&alignment, entry->bytes.data(), sizeof(alignment));
  if (!std::has_single_bit(alignment) || alignment < kMinGgufAlignment ||
      alignment > kMaxGgufAlignment) {
    cursor.Corrupt(
        fmt::format(
            "key 'general.alignment' is {}, wanted a power of two from {} to {}",
            alignment,
            kMinGgufAlignment,
            kMaxGgufAlignment
        )
    );
  }
  return alignment;
}

std::string Where(const TensorDescriptor& tensor) {
  return fmt::format("tensor '{}'", Printable(tensor.name));
}

void ReadAxes(GgufCursor& cursor, TensorDescriptor& tensor, const std::string& where) {
  const auto axes = cursor.Number<std::uint32_t>(where);
  if (axes < 1 || axes > kMaxGgufAxes) {
    cursor.Corrupt(fmt::format("{}: {} axes, wanted 1 to {}", where, axes, kMaxGgufAxes));
  }
  tensor.values = 1;
  for (std::uint32_t axis = 0; axis < axes; ++axis) {
    const auto length = cursor.Number<std::uint64_t>(where);
    if (length == 0) {
      cursor.Corrupt(fmt::format("{}: axis {} has length 0", where, axis));
    }
    if (length > std::numeric_limits<std::uint64_t>::max() / tensor.values) {
      cursor.Corrupt(
          fmt::format(
              "{}: axis {} of length {} overflows the number of values", where, axis, length
          )
      );
    }
    tensor.values *= length;
    tensor.dims.push_back(length);
  }
}

void SetType(const GgufCursor& cursor, TensorDescriptor& tensor, const std::string& where) {
  const GgufTensorType* type = FindGgufTensorType(tensor.type_number);
  if (type == nullptr) {
    tensor.type_name = fmt::format("type {}", tensor.type_number);
    return;
  }
  tensor.type = type->type;
  tensor.type_name = type->name;
  if (tensor.dims[0] % type->layout.values != 0) {
    cursor.Corrupt(
        fmt::format(
            "{}: rows of {} values, wanted a multiple of {} for {}",
            where,
            tensor.dims[0],
            type->layout.values,
            type->name
        )
    );
  }
  const std::uint64_t blocks = tensor.values / type->layout.values;
  if (blocks > std::numeric_limits<std::size_t>::max() / type->layout.bytes) {
    cursor.Corrupt(fmt::format("{}: {} values overflow the number of bytes", where, tensor.values));
  }
  tensor.byte_size = static_cast<std::size_t>(blocks) * type->layout.bytes;
}

// The descriptor with its offset still relative to the data section.
TensorDescriptor ReadTensor(GgufCursor& cursor, std::uint64_t index) {
  TensorDescriptor tensor;
  tensor.name =
      TextOf(cursor.String(kMaxGgufTensorNameBytes, fmt::format("name of tensor {}", index)));
  if (tensor.name.empty()) {
    cursor.Corrupt(fmt::format("name of tensor {} is empty", index));
  }
  const std::string where = Where(tensor);
  ReadAxes(cursor, tensor, where);
  tensor.type_number = cursor.Number<std::uint32_t>(where);
  SetType(cursor, tensor, where);
  tensor.offset = cursor.Number<std::uint64_t>(where);
  return tensor;
}

// Makes offsets absolute and proves that no tensor leaves the file or overlaps another.
void PlaceTensors(
    const GgufCursor& cursor,
    std::span<const std::byte> file,
    std::uint32_t alignment,
    std::vector<TensorDescriptor>& tensors
) {
  const std::size_t start = (cursor.position() + alignment - 1) / alignment * alignment;
  for (TensorDescriptor& tensor : tensors) {
    if (tensor.offset % alignment != 0) {
      cursor.Corrupt(
          fmt::format(
              "{}: offset {} is not a multiple of {}", Where(tensor), tensor.offset, alignment
          )
      );
    }
    // A tensor of unknown layout takes at least one byte.
    const std::size_t size = tensor.byte_size.value_or(1);
    const std::size_t room = start < file.size() ? file.size() - start : 0;
    if (tensor.offset > room || size > room - tensor.offset) {
      cursor.Corrupt(
          fmt::format(
              "{}: {} bytes at offset {}, the data section has {}",
              Where(tensor),
              size,
              tensor.offset,
              room
          )
      );
    }
    tensor.offset += start;
  }

  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tensors[a].offset < tensors[b].offset;
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const TensorDescriptor& before = tensors[order[i - 1]];
    const TensorDescriptor& after = tensors[order[i]];
    if (after.offset - before.offset < before.byte_size.value_or(1)) {
      cursor.Corrupt(fmt::format("{} overlaps {}", Where(before), Where(after)));
    }
  }
}

// Indices of the items in the order of `name_of`; two equal names are an error.
template <typename Item, typename NameOf>
std::vector<std::size_t> SortedUnique(
    const GgufCursor& cursor, const std::vector<Item>& items, NameOf name_of, std::string_view what
) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return name_of(items[a]) < name_of(items[b]);
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::string_view name = name_of(items[order[i]]);
    if (name == name_of(items[order[i - 1]])) {
      cursor.Corrupt(fmt::format("duplicate {} '{}'", what, Printable(name)));
    }
  }
  return order;
}

template <typename Item, typename NameOf>
const Item* FindSorted(
    const std::vector<Item>& items,
    const std::vector<std::size_t>& order,
    NameOf name_of,
    std::string_view name
) {
  const auto found = std::lower_bound(
      order.begin(), order.end(), name, [&](std::size_t i, std::string_view wanted) {
        return name_of(items[i]) < wanted;
      }
  );
  return found != order.end() && name_of(items[*found]) == name ? &items[*found] : nullptr;
}

std::string_view KeyOf(const GgufEntry& entry) {
  return entry.key;
}

std::string_view NameOf(const TensorDescriptor& tensor) {
  return tensor.name;
}

std::uint32_t ReadVersion(GgufCursor& cursor) {
  if (TextOf(cursor.Take(std::min<std::uint64_t>(4, cursor.left()), "magic")) != "GGUF") {
    cursor.Corrupt("does not start with 'GGUF'");
  }
  const auto version = cursor.Number<std::uint32_t>("version");
  if (version != 2 && version != 3) {
    // A big-endian file has its version in the upper bytes.
    const bool swapped = version != 0 && (version & 0xffff) == 0;
    cursor.Fail(
        ErrorCode::kUnsupported,
        swapped ? std::string("is big-endian, wanted little-endian")
                : fmt::format("GGUF version {}, wanted 2 or 3", version)
    );
  }
  return version;
}

}  // namespace

GgufFile::GgufFile(std::span<const std::byte> bytes, std::string name)
    : bytes_(bytes), name_(std::move(name)) {
  GgufCursor cursor(bytes_, name_);
  version_ = ReadVersion(cursor);
  const std::uint64_t tensors = cursor.Count(kMaxGgufTensors, "header", "tensors");
  const std::uint64_t entries = cursor.Count(kMaxGgufMetadataEntries, "header", "metadata entries");
  if (entries * kLeastEntryBytes + tensors * kLeastTensorBytes > cursor.left()) {
    cursor.Corrupt(
        fmt::format(
            "header: {} metadata entries and {} tensors do not fit {} bytes",
            entries,
            tensors,
            cursor.left()
        )
    );
  }

  metadata_.reserve(static_cast<std::size_t>(entries));
  for (std::uint64_t i = 0; i < entries; ++i) {
    metadata_.push_back(ReadEntry(cursor, bytes_, i));
  }
  by_key_ = SortedUnique(cursor, metadata_, KeyOf, "key");
  alignment_ = AlignmentOf(cursor, Find("general.alignment"));

  tensors_.reserve(static_cast<std::size_t>(tensors));
  for (std::uint64_t i = 0; i < tensors; ++i) {
    tensors_.push_back(ReadTensor(cursor, i));
  }
  by_name_ = SortedUnique(cursor, tensors_, NameOf, "tensor");
  PlaceTensors(cursor, bytes_, alignment_, tensors_);
}

const GgufEntry* GgufFile::Find(std::string_view key) const {
  return FindSorted(metadata_, by_key_, KeyOf, key);
}

const TensorDescriptor* GgufFile::FindTensor(std::string_view name) const {
  return FindSorted(tensors_, by_name_, NameOf, name);
}

std::span<const std::byte> GgufFile::BytesOf(const TensorDescriptor& tensor) const {
  return bytes_.subspan(tensor.offset, tensor.byte_size.value_or(0));
}

}  // namespace hearth
