#include "tensor/block_codes.h"

#include <cstring>

#include "kernels/half.h"

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

// 16 bytes hold 32 codes: low nibbles the first half, high nibbles the second.
void ReadNibbles(const std::byte* packed, std::uint8_t* codes) {
  for (std::size_t i = 0; i < 16; ++i) {
    codes[i] = ByteAt(packed + i) & 0xf;
    codes[i + 16] = static_cast<std::uint8_t>(ByteAt(packed + i) >> 4);
  }
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
  out.scale = HalfToFloat(HalfAt(block)) * static_cast<float>(scale);
  out.minimum = -(HalfToFloat(HalfAt(block + 2)) * static_cast<float>(minimum));
  const std::byte* codes = block + 16 + j / 2 * 32;
  for (std::size_t i = 0; i < 32; ++i) {
    const int byte = ByteAt(codes + i);
    out.codes[i] = static_cast<std::uint8_t>(j % 2 == 0 ? byte & 0xf : byte >> 4);
  }
}

void ReadQ6K(const std::byte* row, std::size_t index, GroupCodes& out) {
  const std::byte* block = row + index / 16 * 210;
  const std::size_t group = index % 16;
  const std::byte* low = block;
  const std::byte* high = block + 128;
  const auto scale = static_cast<std::int8_t>(ByteAt(block + 192 + group));
  out.scale = HalfToFloat(HalfAt(block + 208)) * static_cast<float>(scale);
  out.minimum = 0.0f;
  for (std::size_t i = 0; i < 16; ++i) {
    // A block is two halves of 128 values; in a half, value 32 r + l takes nibble r / 2 of byte
    // l (+ 32 for odd r) and the two bits 2 r of high byte l.
    const std::size_t value = group * 16 + i;
    const std::size_t half = value / 128;
    const std::size_t r = value % 128 / 32;
    const std::size_t l = value % 32;
    const int byte = ByteAt(low + half * 64 + l + (r % 2) * 32);
    const int upper = ByteAt(high + half * 32 + l) >> (2 * r) & 3;
    out.codes[i] = static_cast<std::uint8_t>((r < 2 ? byte & 0xf : byte >> 4) | upper << 4);
  }
}

}  // namespace

void ReadGroup(ElementType type, const std::byte* row, std::size_t index, GroupCodes& out) {
  switch (type) {
    case ElementType::kQ4_0: {
      const std::byte* block = row + index * 18;
      out.half_scale = HalfAt(block);
      ReadNibbles(block + 2, out.codes);
      return;
    }
    case ElementType::kQ4_1: {
      const std::byte* block = row + index * 20;
      out.half_scale = HalfAt(block);
      out.half_minimum = HalfAt(block + 2);
      ReadNibbles(block + 4, out.codes);
      return;
    }
    case ElementType::kQ8_0: {
      const std::byte* block = row + index * 34;
      out.half_scale = HalfAt(block);
      for (std::size_t i = 0; i < 32; ++i) {
        out.codes[i] = static_cast<std::uint8_t>(ByteAt(block + 2 + i) ^ 0x80);
      }
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
