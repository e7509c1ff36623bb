#include "server/http/chunk_line.h"

#include <algorithm>
#include <cstddef>

namespace hearth {
namespace {

bool IsHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool BeginsExtension(char c) {
  return c == ';' || c == ' ' || c == '\t';
}

bool IsExtensionByte(char c) {
  return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && c != '"');
}

// Whether the bytes are CR LF or a beginning of it.
bool BeginsLineEnd(std::string_view bytes) {
  return std::string_view("\r\n").starts_with(bytes.substr(0, 2));
}

}  // namespace

bool MayBeChunkLine(std::string_view bytes, bool follows) {
  if (follows) {
    if (!BeginsLineEnd(bytes)) {
      return false;
    }
    bytes.remove_prefix(std::min<std::size_t>(2, bytes.size()));
  }
  const auto* const digits_end = std::find_if_not(bytes.begin(), bytes.end(), IsHexDigit);
  if (digits_end == bytes.end()) {
    return true;
  }
  if (digits_end == bytes.begin()) {
    return false;
  }
  const auto* const end = BeginsExtension(*digits_end)
                              ? std::find_if_not(digits_end, bytes.end(), IsExtensionByte)
                              : digits_end;
  return BeginsLineEnd(bytes.substr(static_cast<std::size_t>(end - bytes.begin())));
}

}  // namespace hearth
