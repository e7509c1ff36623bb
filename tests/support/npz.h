// Reads NumPy's .npy and .npz files, the form in which numeric fixtures are stored. Only what fixtures use:
// little-endian numbers and zip archives without compression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

enum class NpyType { kFloat32, kInt32, kInt64, kUint8, kUint16, kUint32 };

// One array, always in C order (an array stored in Fortran order is turned round on reading).
class NpyArray {
 public:
  NpyArray(
      std::string name, NpyType type, std::vector<std::size_t> shape, std::vector<std::byte> data
  );

  const std::string& name() const { return name_; }

  NpyType type() const { return type_; }

  const std::vector<std::size_t>& shape() const { return shape_; }

  // Number of values: the product of the axes, 1 for a scalar.
  std::size_t size() const { return size_; }

  // The values; T is float, int32_t, int64_t, uint8_t, uint16_t or uint32_t.
  // Ownership: borrows from the array.
  // Errors:    Error(kInvalidArgument) when the array holds another type.
  template <typename T>
  std::span<const T> values() const;

 private:
  std::string name_;
  NpyType type_;
  std::vector<std::size_t> shape_;
  std::size_t size_;
  std::vector<std::byte> data_;
};

// The arrays of one archive by name (without the ".npy").
class Npz {
 public:
  Npz(std::string path, std::map<std::string, NpyArray> arrays);

  bool Has(std::string_view name) const;

  // Errors: Error(kNotFound) naming the file, the array, and what there is.
  const NpyArray& at(std::string_view name) const;

  const std::map<std::string, NpyArray>& arrays() const { return arrays_; }

 private:
  std::string path_;
  std::map<std::string, NpyArray> arrays_;
};

// Errors: Error(kNotFound) when the file cannot be read; Error(kCorruptData) when it breaks its format;
//         Error(kUnsupported) for compression, zip64 and other element types. All name the path.
NpyArray ReadNpy(const std::filesystem::path& path);
Npz ReadNpz(const std::filesystem::path& path);

// As above over bytes; `where` names them in errors, and the array of ParseNpy.
NpyArray ParseNpy(std::span<const std::byte> bytes, const std::string& where);
Npz ParseNpz(std::span<const std::byte> bytes, const std::string& where);

}  // namespace hearth
