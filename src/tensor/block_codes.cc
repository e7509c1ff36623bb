#include "tensor/block_codes.h"

#include <cstring>

namespace hearth {
namespace {

std::uint8_t ByteAt(const std::byte* at) {
  return static_cast<std::uint8_t>(*at);
}

std::uint16_t HalfAt(const std::byte* at) {
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

// The 6-bit scale and minimum of group j of a Q4_K block, spread over 12 bytes.
struct ScaleAndMinimum {
  int scale;
  int minimum;
};

ScaleAndMinimum ReadK4Scales(const std::byte* packed, std::size_t j) {
  const auto at = [&](std::size_t i) { return static_cast<int>(ByteAt(packed + i)); };
  if (j < 4) {
    return {at(j) & 63, at(j + 4) & 63};
  }
  return {(at(j + 4) & 0xf) | (at(j - 4) >> 6 << 4), (at(j + 4) >> 4) | (at(j) >> 6 << 4)};
}

void ReadQ4K(const std::byte* row, std::size_t index, GroupCodes& out) {
  const std::byte* block = row + index / 8 * 144;
  const std::size_t j = index % 8;
  const auto [scale, minimum] = ReadK4Scales(block + 4, j);
  out.scale = HalfAt(block);
  out.minimum = HalfAt(block + 2);
  out.nested_scale[0] = static_cast<std::uint8_t>(scale);
  out.nested_minimum = static_cast<std::uint8_t>(minimum);
  // 32 bytes hold two groups: low nibbles the even one, high nibbles the odd one.
  const std::byte* codes = block + 16 + j / 2 * 32;
  const unsigned shift = j % 2 == 0 ? 0 : 4;
  for (std::size_t i = 0; i < 16; ++i) {
    const unsigned first = unsigned{ByteAt(codes + i)} >> shift & 0xf;
    const unsigned second = unsigned{ByteAt(codes + i + 16)} >> shift & 0xf;
    out.nibbles[i] = static_cast<std::uint8_t>(first | second << 4);
  }
}

void ReadQ6K(const std::byte* row, std::size_t index, GroupCodes& out) {
  // A block is two halves of 128 values; in a half, value 32 r + l takes nibble r / 2 of byte l (+ 32 for
  // odd r) and the two bits 2 r of high byte l. So group r of a half is one nibble and one pair of bits.
  const std::byte* block = row + index / 8 * 210;
  const std::size_t group = index % 8;
  const std::size_t r = group % 4;
  const std::byte* low = block + group / 4 * 64 + (r % 2) * 32;
  const std::byte* high = block + 128 + group / 4 * 32;
  const unsigned shift = r < 2 ? 0 : 4;
  out.scale = HalfAt(block + 208);
  out.nested_scale[0] = ByteAt(block + 192 + 2 * group);
  out.nested_scale[1] = ByteAt(block + 192 + 2 * group + 1);
  for (std::size_t i = 0; i < 16; ++i) {
    const unsigned first = unsigned{ByteAt(low + i)} >> shift & 0xf;
    const unsigned second = unsigned{ByteAt(low + i + 16)} >> shift & 0xf;
    out.nibbles[i] = static_cast<std::uint8_t>(first | second << 4);
  }
  std::memset(out.pairs, 0, sizeof out.pairs);
  for (std::size_t i = 0; i < 32; ++i) {
    const unsigned upper = unsigned{ByteAt(high + i)} >> (2 * r) & 3;
    std::uint8_t& byte = out.pairs[i / 16][i % 4];
    byte = static_cast<std::uint8_t>(byte | upper << (2 * (i / 4 % 4)));
  }
}

}  // namespace

void ReadGroup(ElementType type, const std::byte* row, std::size_t index, GroupCodes& out) {
  switch (type) {
    case ElementType::kQ4_0: {
      const std::byte* block = row + index * 18;
      out.scale = HalfAt(block);
      std::memcpy(out.nibbles, block + 2, sizeof out.nibbles);
      return;
    }
    case ElementType::kQ4_1: {
      const std::byte* block = row + index * 20;
      out.scale = HalfAt(block);
      out.minimum = HalfAt(block + 2);
      std::memcpy(out.nibbles, block + 4, sizeof out.nibbles);
      return;
    }
    case ElementType::kQ8_0: {
      const std::byte* block = row + index * 34;
      out.scale = HalfAt(block);
      std::memcpy(out.bytes, block + 2, sizeof out.bytes);
      return;
    }
    case ElementType::kQ4_K:
      return ReadQ4K(row, index, out);
    case ElementType::kQ6_K:
      return ReadQ6K(row, index, out);
    case ElementType::kF32:
    case ElementType::kF16:
    case ElementType::kBF16:
      return;
  }
}

}  // namespace hearth
