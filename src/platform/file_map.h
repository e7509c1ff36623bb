// Read-only maps of files: how weights get into memory. Knows bytes and the operating system, no format.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace hearth {

// How a range will be read, for the operating system's read-ahead.
enum class FileAccess { kNormal, kSequential, kRandom, kSoon };

// One file, mapped whole. A resource with one owner; the map ends with the object.
// Threads: reading and the hints are safe from several threads.
// A file that another process cuts short while it is mapped raises SIGBUS at the next read of the lost part,
// as with every map: model files are replaced by renaming, never written in place.
class FileMap {
 public:
  // Errors: Error(kNotFound) when there is no such file, Error(kIo) when it is not a regular file or cannot be
  //         opened or mapped. One line with the path and the reason.
  // Cost:   no byte is read yet.
  explicit FileMap(const std::filesystem::path& path);
  ~FileMap();

  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;

  // The file's bytes, page-aligned; empty for an empty file. Borrowed: valid as long as the map.
  std::span<const std::byte> bytes() const { return bytes_; }

  // The path as messages show it.
  const std::string& name() const { return name_; }

  // A hint for bytes [offset, offset + count); parts outside the file are ignored. Never fails.
  void Advise(std::size_t offset, std::size_t count, FileAccess access) const noexcept;

  // Gives back the memory of the whole pages inside the range; the bytes stay readable and would be read from the
  // file again. For weights that were repacked. Parts outside the file are ignored. Never fails.
  void Release(std::size_t offset, std::size_t count) const noexcept;

 private:
  std::string name_;
  std::span<const std::byte> bytes_;
};

}  // namespace hearth
