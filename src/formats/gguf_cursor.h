// A bounds-checked walk through the bytes of a GGUF file. Internal to the reader.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "hearth/error.h"

namespace hearth {

// Walks through the bytes. Never reads past the end; what stands in `where` names the place in messages.
class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> bytes, const std::string& file)
      : bytes_(bytes), file_(file) {}

  std::size_t position() const { return at_; }

  std::uint64_t left() const { return bytes_.size() - at_; }

  [[noreturn]] void Fail(ErrorCode code, const std::string& what) const {
    throw Error(code, fmt::format("{}: {}", file_, what));
  }

  [[noreturn]] void Corrupt(const std::string& what) const { Fail(ErrorCode::kCorruptData, what); }

  std::span<const std::byte> Take(std::uint64_t count, std::string_view where) {
    if (count > left()) {
      Corrupt(
          fmt::format(
              "{}: wants {} bytes at byte {}, the file has {} left", where, count, at_, left()
          )
      );
    }
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += taken.size();
    return taken;
  }

  template <typename T>
  T Number(std::string_view where) {
    T value{};
    std::memcpy(&value, Take(sizeof(T), where).data(), sizeof(T));
    return value;
  }

  // A length or count that must not pass `limit`.
  std::uint64_t Count(std::uint64_t limit, std::string_view where, std::string_view unit) {
    const auto count = Number<std::uint64_t>(where);
    if (count > limit) {
      Fail(
          ErrorCode::kResourceExhausted,
          fmt::format("{}: {} {}, the limit is {}", where, count, unit, limit)
      );
    }
    return count;
  }

  std::span<const std::byte> String(std::uint64_t limit, std::string_view where) {
    const std::uint64_t length = Count(limit, where, "bytes");
    return Take(length, where);
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
  std::size_t at_ = 0;
};

inline std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace hearth
