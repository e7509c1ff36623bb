#include "support/gguf_writer.h"

#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace hearth {
namespace {

using Kind = GgufField::Kind;

// Numbers of the GGUF specification.
constexpr std::uint32_t kString = 8;
constexpr std::uint32_t kArray = 9;

std::uint32_t NumberOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return 0;
    case ElementType::kF16:
      return 1;
    case ElementType::kQ4_0:
      return 2;
    case ElementType::kQ4_1:
      return 3;
    case ElementType::kQ8_0:
      return 8;
    case ElementType::kQ4_K:
      return 12;
    case ElementType::kQ6_K:
      return 14;
    case ElementType::kBF16:
      return 30;
  }
  throw std::runtime_error("element type without a GGUF number");
}

// Appends numbers and notes where they stand.
class Sink {
 public:
  const std::vector<std::byte>& bytes() const { return bytes_; }

  const std::vector<GgufField>& fields() const { return fields_; }

  template <typename T>
  void Number(T value, Kind kind, std::string what) {
    fields_.push_back({kind, std::move(what), bytes_.size(), sizeof(T)});
    Plain(std::as_bytes(std::span(&value, 1)));
  }

  void Plain(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  void Text(std::string_view text, const std::string& what) {
    Number<std::uint64_t>(text.size(), Kind::kLength, "length of " + what);
    Plain(std::as_bytes(std::span(text)));
  }

  void Append(std::span<const std::byte> bytes, std::span<const GgufField> fields) {
    for (GgufField field : fields) {
      field.offset += bytes_.size();
      fields_.push_back(std::move(field));
    }
    Plain(bytes);
  }

  void PadTo(std::size_t multiple) {
    bytes_.resize((bytes_.size() + multiple - 1) / multiple * multiple);
  }

 private:
  std::vector<std::byte> bytes_;
  std::vector<GgufField> fields_;
};

std::string Quoted(std::string_view key) {
  return "key '" + std::string(key) + "'";
}

template <typename T>
Sink ArrayOf(std::string_view key, std::uint32_t element_type, std::span<const T> values) {
  Sink sink;
  sink.Number(element_type, Kind::kValueType, "element type of " + Quoted(key));
  sink.Number<std::uint64_t>(values.size(), Kind::kCount, "count of " + Quoted(key));
  sink.Plain(std::as_bytes(values));
  return sink;
}

}  // namespace

GgufWriter::GgufWriter(std::uint32_t version, std::uint32_t alignment)
    : version_(version), alignment_(alignment) {
}

GgufWriter& GgufWriter::Raw(
    std::string_view key, std::uint32_t type, std::span<const std::byte> value
) {
  entries_.push_back(
      {std::string(key),
       type,
       {value.begin(), value.end()},
       {{Kind::kValue, "value of " + Quoted(key), 0, value.size()}}}
  );
  return *this;
}

GgufWriter& GgufWriter::Uint8(std::string_view key, std::uint8_t value) {
  return Raw(key, 0, std::as_bytes(std::span(&value, 1)));
}

GgufWriter& GgufWriter::Int8(std::string_view key, std::int8_t value) {
  return Raw(key, 1, std::as_bytes(std::span(&value, 1)));
}

GgufWriter& GgufWriter::Uint16(std::string_view key, std::uint16_t value) {
  return Raw(key, 2, std::as_bytes(std::span(&value, 1)));
}

GgufWriter& GgufWriter::Int16(std::string_view key, std::int16_t value) {
  return Raw(key, 3, std::as_bytes(std::span(&value, 1)));
}

GgufWriter& GgufWriter::Uint32(std::string_view key, std::uint32_t value) {
  return Raw(key, 4, std::as_bytes(std::span(&value, 1)));
}

GgufWriter& GgufWriter::Int32(std::string_view key, std::int32_t value) {
  return Raw(key, 5, std::as_bytes(std::span(&value, 1)));
}

GgufWriter& GgufWriter::Float32(std::string_view key, float value) {
  return Raw(key, 6, std::as_bytes(std::span(&value, 1)));
}

GgufWriter& GgufWriter::Bool(std::string_view key, bool value) {
  const std::byte byte{value};
  return Raw(key, 7, std::span(&byte, 1));
}

GgufWriter& GgufWriter::Uint64(std::string_view key, std::uint64_t value) {
  return Raw(key, 10, std::as_bytes(std::span(&value, 1)));
}

GgufWriter& GgufWriter::Int64(std::string_view key, std::int64_t value) {
  return Raw(key, 11, std::as_bytes(std::span(&value, 1)));
}

GgufWriter& GgufWriter::Float64(std::string_view key, double value) {
  return Raw(key, 12, std::as_bytes(std::span(&value, 1)));
}

GgufWriter& GgufWriter::String(std::string_view key, std::string_view value) {
  Sink sink;
  sink.Text(value, Quoted(key));
  entries_.push_back({std::string(key), kString, sink.bytes(), sink.fields()});
  return *this;
}

GgufWriter& GgufWriter::Strings(std::string_view key, std::span<const std::string> values) {
  Sink sink;
  sink.Number(kString, Kind::kValueType, "element type of " + Quoted(key));
  sink.Number<std::uint64_t>(values.size(), Kind::kCount, "count of " + Quoted(key));
  for (std::size_t i = 0; i < values.size(); ++i) {
    sink.Text(values[i], "element " + std::to_string(i) + " of " + Quoted(key));
  }
  entries_.push_back({std::string(key), kArray, sink.bytes(), sink.fields()});
  return *this;
}

GgufWriter& GgufWriter::Floats(std::string_view key, std::span<const float> values) {
  const Sink sink = ArrayOf(key, 6, values);
  entries_.push_back({std::string(key), kArray, sink.bytes(), sink.fields()});
  return *this;
}

GgufWriter& GgufWriter::Ints(std::string_view key, std::span<const std::int32_t> values) {
  const Sink sink = ArrayOf(key, 5, values);
  entries_.push_back({std::string(key), kArray, sink.bytes(), sink.fields()});
  return *this;
}

GgufWriter& GgufWriter::Bools(std::string_view key, std::span<const std::uint8_t> values) {
  const Sink sink = ArrayOf(key, 7, values);
  entries_.push_back({std::string(key), kArray, sink.bytes(), sink.fields()});
  return *this;
}

GgufWriter& GgufWriter::Tensor(
    std::string_view name,
    ElementType type,
    std::vector<std::uint64_t> dims,
    std::span<const std::byte> data
) {
  return Tensor(name, NumberOf(type), std::move(dims), data);
}

GgufWriter& GgufWriter::Tensor(
    std::string_view name,
    std::uint32_t type_number,
    std::vector<std::uint64_t> dims,
    std::span<const std::byte> data
) {
  tensors_.push_back({std::string(name), type_number, std::move(dims), {data.begin(), data.end()}});
  return *this;
}

GgufWriter& GgufWriter::FloatTensor(
    std::string_view name, std::vector<std::uint64_t> dims, std::span<const float> values
) {
  return Tensor(name, ElementType::kF32, std::move(dims), std::as_bytes(values));
}

std::vector<std::byte> GgufWriter::Bytes(std::vector<GgufField>* fields) const {
  constexpr std::string_view kMagic = "GGUF";
  Sink sink;
  sink.Append(
      std::as_bytes(std::span(kMagic)),
      std::vector<GgufField>{{Kind::kMagic, "magic", 0, kMagic.size()}}
  );
  sink.Number(version_, Kind::kVersion, "version");
  sink.Number<std::uint64_t>(tensors_.size(), Kind::kCount, "count of tensors");
  sink.Number<std::uint64_t>(entries_.size(), Kind::kCount, "count of metadata entries");
  for (const Entry& entry : entries_) {
    sink.Text(entry.key, Quoted(entry.key));
    sink.Number(entry.type, Kind::kValueType, "type of " + Quoted(entry.key));
    sink.Append(entry.value, entry.fields);
  }
  Sink data;
  for (const TensorEntry& tensor : tensors_) {
    const std::string what = "tensor '" + tensor.name + "'";
    sink.Text(tensor.name, what);
    sink.Number(static_cast<std::uint32_t>(tensor.dims.size()), Kind::kAxes, "axes of " + what);
    for (const std::uint64_t axis : tensor.dims) {
      sink.Number(axis, Kind::kAxis, "axis of " + what);
    }
    sink.Number(tensor.type, Kind::kTensorType, "type of " + what);
    data.PadTo(alignment_);
    sink.Number<std::uint64_t>(data.bytes().size(), Kind::kOffset, "offset of " + what);
    data.Plain(tensor.data);
  }
  sink.PadTo(alignment_);
  sink.Plain(data.bytes());
  if (fields != nullptr) {
    *fields = sink.fields();
  }
  return sink.bytes();
}

void GgufWriter::WriteTo(const std::filesystem::path& path) const {
  const std::vector<std::byte> bytes = Bytes();
  std::ofstream file(path, std::ios::binary);
  file.write(
      reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())
  );
  file.close();
  if (!file) {
    throw std::runtime_error(path.string() + ": cannot be written");
  }
}

}  // namespace hearth
