#include "contracts/printable.h"

namespace hearth {
namespace {

unsigned ByteAt(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0u;
}

// Length of the printable character at the start, 0 if there is none (RFC 3629: no overlong forms, no surrogates).
std::size_t CharacterLength(std::string_view bytes) {
  const unsigned first = ByteAt(bytes, 0);
  if (first < 0x80) {
    return first < 0x20 || first == 0x7f || first == '\\' ? 0 : 1;
  }
  const std::size_t length = first < 0xc2   ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((ByteAt(bytes, i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  const unsigned second = ByteAt(bytes, 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool too_high = first == 0xf4 && second >= 0x90;
  // U+0080..U+009F control some terminals; U+2028 and U+2029 break lines in some readers.
  const bool control = first == 0xc2 && second < 0xa0;
  const bool separator = first == 0xe2 && second == 0x80 && (ByteAt(bytes, 2) & 0xfe) == 0xa8;
  return overlong || surrogate || too_high || control || separator ? 0 : length;
}

}  // namespace

std::string Printable(std::string_view bytes, std::size_t max_bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t length = CharacterLength(bytes.substr(at, 4));
    const std::size_t step = length == 0 ? 1 : length;
    if (at + step > max_bytes) {
      return text + "...";
    }
    if (length == 0) {
      const unsigned byte = ByteAt(bytes, at);
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      text += bytes.substr(at, length);
    }
    at += step;
  }
  return text;
}

}  // namespace hearth
