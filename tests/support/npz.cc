#include "support/npz.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "hearth/error.h"

namespace hearth {
namespace {

// Array headers are literal Python dictionaries of a few fields; a real one stays far below this.
constexpr std::size_t kMaxHeaderBytes = 65536;

struct TypeRow {
  NpyType type;
  const char* descriptor;
  std::size_t bytes;
};

constexpr TypeRow kTypes[] = {
    {NpyType::kFloat32, "<f4", 4},
    {NpyType::kInt32, "<i4", 4},
    {NpyType::kInt64, "<i8", 8},
    {NpyType::kUint8, "|u1", 1},
    {NpyType::kUint16, "<u2", 2},
    {NpyType::kUint32, "<u4", 4},
};

const TypeRow& RowOf(NpyType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) {
      return row;
    }
  }
  throw Error(ErrorCode::kInternal, "npy: element type without a row in the table");
}

[[noreturn]] void Corrupt(const std::string& where, const std::string& what) {
  throw Error(ErrorCode::kCorruptData, where + ": " + what);
}

[[noreturn]] void Unsupported(const std::string& where, const std::string& what) {
  throw Error(ErrorCode::kUnsupported, where + ": " + what);
}

std::vector<std::byte> ReadBytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(ErrorCode::kNotFound, path.string() + ": cannot be opened");
  }
  std::vector<char> chars{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::byte> bytes(chars.size());
  if (!chars.empty()) {
    std::memcpy(bytes.data(), chars.data(), chars.size());
  }
  return bytes;
}

// A bounds-checked view; offsets are from its start.
class Bytes {
 public:
  Bytes(std::span<const std::byte> bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}

  std::size_t size() const { return bytes_.size(); }

  const std::string& where() const { return where_; }

  std::span<const std::byte> Slice(std::size_t offset, std::size_t count) const {
    if (offset > bytes_.size() || count > bytes_.size() - offset) {
      Corrupt(
          where_,
          "wants " + std::to_string(count) + " bytes at offset " + std::to_string(offset) +
              ", has " + std::to_string(bytes_.size())
      );
    }
    return bytes_.subspan(offset, count);
  }

  std::uint32_t Number(std::size_t offset, std::size_t count) const {
    std::uint32_t value = 0;
    const auto slice = Slice(offset, count);
    for (std::size_t i = 0; i < count; ++i) {
      value |= std::to_integer<std::uint32_t>(slice[i]) << (8 * i);
    }
    return value;
  }

  std::string Text(std::size_t offset, std::size_t count) const {
    const auto slice = Slice(offset, count);
    std::string text(count, '\0');
    if (count > 0) {
      std::memcpy(text.data(), slice.data(), count);
    }
    return text;
  }

 private:
  std::span<const std::byte> bytes_;
  std::string where_;
};

// What follows "'key':" in a header, without leading blanks.
std::string_view FieldOf(std::string_view header, std::string_view key, const std::string& where) {
  const std::string quoted = "'" + std::string(key) + "':";
  const std::size_t found = header.find(quoted);
  if (found == std::string_view::npos) {
    Corrupt(where, "array header has no " + std::string(key));
  }
  std::string_view rest = header.substr(found + quoted.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

std::vector<std::size_t> ParseShape(std::string_view field, const std::string& where) {
  const std::size_t close = field.find(')');
  if (field.empty() || field[0] != '(' || close == std::string_view::npos) {
    Corrupt(where, "shape is not a tuple");
  }
  std::vector<std::size_t> shape;
  std::size_t axis = 0;
  bool has_digits = false;
  for (const char c : field.substr(1, close - 1)) {
    if (c >= '0' && c <= '9') {
      const std::size_t digit = static_cast<std::size_t>(c - '0');
      if (axis > (std::numeric_limits<std::size_t>::max() - digit) / 10) {
        Corrupt(where, "an axis is too long");
      }
      axis = axis * 10 + digit;
      has_digits = true;
    } else if (c == ',' && has_digits) {
      shape.push_back(axis);
      axis = 0;
      has_digits = false;
    } else if (c != ' ') {
      Corrupt(where, "shape is not a tuple of whole numbers");
    }
  }
  if (has_digits) {
    shape.push_back(axis);
  }
  return shape;
}

std::size_t CountValues(const std::vector<std::size_t>& shape, const std::string& where) {
  std::size_t count = 1;
  for (const std::size_t axis : shape) {
    if (axis != 0 && count > std::numeric_limits<std::size_t>::max() / 16 / axis) {
      Corrupt(where, "shape is too large");
    }
    count *= axis;
  }
  return count;
}

// [a, b, ...] stored first axis fastest -> last axis fastest.
std::vector<std::byte> FromFortran(
    std::span<const std::byte> data,
    const std::vector<std::size_t>& shape,
    std::size_t count,
    std::size_t value_bytes
) {
  std::vector<std::byte> turned(data.size());
  std::vector<std::size_t> index(shape.size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t target = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      target = target * shape[axis] + index[axis];
    }
    std::memcpy(&turned[target * value_bytes], &data[i * value_bytes], value_bytes);
    for (std::size_t axis = 0; axis < shape.size() && ++index[axis] == shape[axis]; ++axis) {
      index[axis] = 0;
    }
  }
  return turned;
}

NpyArray ParseArray(const Bytes& bytes, std::string name) {
  const std::string& where = bytes.where();
  if (bytes.size() < 8 || bytes.Text(0, 6) != "\x93NUMPY") {
    Corrupt(where, "is not a NumPy array");
  }
  const std::uint32_t version = bytes.Number(6, 1);
  if (version < 1 || version > 3) {
    Unsupported(where, "format version is " + std::to_string(version) + ", wanted 1 to 3");
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t header_bytes = bytes.Number(8, length_bytes);
  if (header_bytes > kMaxHeaderBytes) {
    Corrupt(where, "array header of " + std::to_string(header_bytes) + " bytes");
  }
  const std::string header = bytes.Text(8 + length_bytes, header_bytes);

  const std::string_view descriptor = FieldOf(header, "descr", where);
  const TypeRow* type = nullptr;
  for (const TypeRow& row : kTypes) {
    if (descriptor.starts_with("'" + std::string(row.descriptor) + "'")) {
      type = &row;
    }
  }
  if (type == nullptr) {
    Unsupported(where, "element type " + std::string(descriptor.substr(0, descriptor.find(','))));
  }
  std::vector<std::size_t> shape = ParseShape(FieldOf(header, "shape", where), where);
  const std::size_t count = CountValues(shape, where);
  const std::size_t start = 8 + length_bytes + header_bytes;
  const auto stored = bytes.Slice(start, count * type->bytes);
  if (start + stored.size() != bytes.size()) {
    Corrupt(
        where, std::to_string(bytes.size() - start - stored.size()) + " bytes after the last value"
    );
  }

  std::vector<std::byte> data(stored.begin(), stored.end());
  if (FieldOf(header, "fortran_order", where).starts_with("True") && shape.size() > 1) {
    data = FromFortran(stored, shape, count, type->bytes);
  }
  return NpyArray(std::move(name), type->type, std::move(shape), std::move(data));
}

// Zip file (PKWARE APPNOTE 6.3): the central directory at the end lists each entry and where it starts.
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kLocalBytes = 30;

std::size_t FindEnd(const Bytes& bytes) {
  for (std::size_t back = kEndBytes; back <= bytes.size() && back <= kEndBytes + 65535; ++back) {
    if (bytes.Number(bytes.size() - back, 4) == kEndSignature) {
      return bytes.size() - back;
    }
  }
  Corrupt(bytes.where(), "is not a zip archive");
}

}  // namespace

NpyArray::NpyArray(
    std::string name, NpyType type, std::vector<std::size_t> shape, std::vector<std::byte> data
)
    : name_(std::move(name)),
      type_(type),
      shape_(std::move(shape)),
      size_(CountValues(shape_, name_)),
      data_(std::move(data)) {
}

template <typename T>
std::span<const T> NpyArray::values() const {
  NpyType wanted{};
  if constexpr (std::is_same_v<T, float>) {
    wanted = NpyType::kFloat32;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    wanted = NpyType::kInt32;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    wanted = NpyType::kInt64;
  } else if constexpr (std::is_same_v<T, std::uint8_t>) {
    wanted = NpyType::kUint8;
  } else if constexpr (std::is_same_v<T, std::uint16_t>) {
    wanted = NpyType::kUint16;
  } else {
    static_assert(std::is_same_v<T, std::uint32_t>);
    wanted = NpyType::kUint32;
  }
  if (type_ != wanted) {
    throw Error(
        ErrorCode::kInvalidArgument,
        name_ + ": holds " + RowOf(type_).descriptor + ", wanted " + RowOf(wanted).descriptor
    );
  }
  // The vector's memory comes from operator new, aligned for every number.
  return {reinterpret_cast<const T*>(data_.data()), size_};
}

template std::span<const float> NpyArray::values() const;
template std::span<const std::int32_t> NpyArray::values() const;
template std::span<const std::int64_t> NpyArray::values() const;
template std::span<const std::uint8_t> NpyArray::values() const;
template std::span<const std::uint16_t> NpyArray::values() const;
template std::span<const std::uint32_t> NpyArray::values() const;

Npz::Npz(std::string path, std::map<std::string, NpyArray> arrays)
    : path_(std::move(path)), arrays_(std::move(arrays)) {
}

bool Npz::Has(std::string_view name) const {
  return arrays_.contains(std::string(name));
}

const NpyArray& Npz::at(std::string_view name) const {
  const auto found = arrays_.find(std::string(name));
  if (found != arrays_.end()) {
    return found->second;
  }
  std::string names;
  for (const auto& entry : arrays_) {
    names.append(names.empty() ? "" : ", ").append(entry.first);
  }
  throw Error(
      ErrorCode::kNotFound, path_ + ": no array '" + std::string(name) + "'; it has " + names
  );
}

NpyArray ReadNpy(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = ReadBytes(path);
  return ParseArray(Bytes(bytes, path.string()), path.stem().string());
}

Npz ReadNpz(const std::filesystem::path& path) {
  return ParseNpz(ReadBytes(path), path.string());
}

NpyArray ParseNpy(std::span<const std::byte> bytes, const std::string& where) {
  return ParseArray(Bytes(bytes, where), where);
}

Npz ParseNpz(std::span<const std::byte> file, const std::string& where) {
  const Bytes bytes(file, where);
  const std::size_t end = FindEnd(bytes);
  const std::size_t entries = bytes.Number(end + 10, 2);
  std::size_t at = bytes.Number(end + 16, 4);
  std::map<std::string, NpyArray> arrays;
  for (std::size_t entry = 0; entry < entries; ++entry) {
    if (bytes.Number(at, 4) != kCentralSignature) {
      Corrupt(where, "entry " + std::to_string(entry) + " of the archive's directory is broken");
    }
    const std::size_t name_bytes = bytes.Number(at + 28, 2);
    std::string name = bytes.Text(at + kCentralBytes, name_bytes);
    const std::string place = where + ": " + name;
    if (bytes.Number(at + 10, 2) != 0) {
      Unsupported(place, "is compressed, wanted stored");
    }
    const std::size_t size = bytes.Number(at + 20, 4);
    const std::size_t local = bytes.Number(at + 42, 4);
    if (size == 0xffffffff || local == 0xffffffff) {
      Unsupported(place, "is a zip64 entry");
    }
    if (bytes.Number(local, 4) != kLocalSignature) {
      Corrupt(place, "has no local header where the directory says");
    }
    // The local header's own name and extra field may be longer than the directory's.
    const std::size_t data =
        local + kLocalBytes + bytes.Number(local + 26, 2) + bytes.Number(local + 28, 2);
    if (!name.ends_with(".npy")) {
      Corrupt(place, "is not an array");
    }
    name.resize(name.size() - 4);
    NpyArray array = ParseArray(Bytes(bytes.Slice(data, size), place), name);
    if (!arrays.emplace(name, std::move(array)).second) {
      Corrupt(place, "stands twice in the archive");
    }
    at += kCentralBytes + name_bytes + bytes.Number(at + 30, 2) + bytes.Number(at + 32, 2);
  }
  return Npz(where, std::move(arrays));
}

}  // namespace hearth
