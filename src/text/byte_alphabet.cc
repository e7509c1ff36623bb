#include "text/byte_alphabet.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace hearth {
namespace {

constexpr std::size_t kCharacters = 0x144;  // U+0000 to U+0143, where the alphabet ends
constexpr std::int16_t kNone = -1;

constexpr bool StandsForItself(std::size_t byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr std::array<std::int16_t, kCharacters> MakeByteOfCharacter() {
  std::array<std::int16_t, kCharacters> byte_of{};
  byte_of.fill(kNone);
  std::size_t next = 0x100;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    byte_of[StandsForItself(byte) ? byte : next++] = static_cast<std::int16_t>(byte);
  }
  return byte_of;
}

constexpr auto kByteOfCharacter = MakeByteOfCharacter();

}  // namespace

std::string BytesOfPrintable(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    // Every character of the alphabet has one or two bytes in UTF-8.
    const unsigned lead = static_cast<unsigned char>(text[at]);
    std::size_t character = lead;
    if (lead >= 0x80) {
      const bool has_two = (lead & 0xe0U) == 0xc0U && at + 1 < text.size();
      const unsigned next = has_two ? static_cast<unsigned char>(text[at + 1]) : 0U;
      if ((next & 0xc0U) != 0x80U) {
        return std::string(text);
      }
      character = ((lead & 0x1fU) << 6U) | (next & 0x3fU);
      ++at;
    }
    if (character >= kCharacters || kByteOfCharacter[character] == kNone) {
      return std::string(text);
    }
    bytes += static_cast<char>(kByteOfCharacter[character]);
  }
  return bytes;
}

}  // namespace hearth
