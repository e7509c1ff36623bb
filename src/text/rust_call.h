// Owners of what rust/text hands out, and its faults as values. Internal to this layer.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "text/hearth_text_ffi.h"

namespace hearth {

inline HearthBytes BorrowBytes(std::string_view text) {
  return {text.data(), text.size()};
}

// The fault of one call. Ownership: frees the message.
class RustFault {
 public:
  RustFault() = default;

  ~RustFault() { hearth_text_free_bytes(fault_.message); }

  RustFault(const RustFault&) = delete;
  RustFault& operator=(const RustFault&) = delete;

  HearthFault* out() { return &fault_; }

  HearthFaultCode code() const { return fault_.code; }

  unsigned line() const { return fault_.line; }

  unsigned column() const { return fault_.column; }

  std::string_view message() const { return {fault_.message.data, fault_.message.size}; }

  // Throws the fault as an Error whose message starts with `where`.
  [[noreturn]] void Throw(std::string_view where) const;

 private:
  HearthFault fault_{};
};

class RustBytes {
 public:
  RustBytes() = default;

  ~RustBytes() { hearth_text_free_bytes(bytes_); }

  RustBytes(const RustBytes&) = delete;
  RustBytes& operator=(const RustBytes&) = delete;

  HearthOwnedBytes* out() { return &bytes_; }

  std::string_view view() const { return {bytes_.data, bytes_.size}; }

 private:
  HearthOwnedBytes bytes_{};
};

class RustIds {
 public:
  RustIds() = default;

  ~RustIds() { hearth_text_free_ids(ids_); }

  RustIds(const RustIds&) = delete;
  RustIds& operator=(const RustIds&) = delete;

  HearthOwnedIds* out() { return &ids_; }

  std::span<const std::uint32_t> view() const { return {ids_.data, ids_.size}; }

 private:
  HearthOwnedIds ids_{};
};

}  // namespace hearth
