#include "kernels/dequantize.h"

#include <cstdint>
#include <cstring>

#include "kernels/half.h"

namespace hearth {
namespace {

std::uint16_t Word(const std::byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof(bits));
  return bits;
}

int Unsigned(std::byte byte) {
  return std::to_integer<int>(byte);
}

int Signed(std::byte byte) {
  return std::to_integer<std::int8_t>(byte);
}

int Low(std::byte byte) {
  return std::to_integer<int>(byte) & 15;
}

int High(std::byte byte) {
  return std::to_integer<int>(byte) >> 4;
}

void BlockF32(const std::byte* block, float* out) {
  std::memcpy(out, block, sizeof(float));
}

void BlockF16(const std::byte* block, float* out) {
  *out = HalfToFloat(Word(block));
}

void BlockBf16(const std::byte* block, float* out) {
  *out = Bf16ToFloat(Word(block));
}

void BlockQ40(const std::byte* block, float* out) {
  const float d = HalfToFloat(Word(block));
  const std::byte* q = block + 2;
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(Low(q[i]) - 8);
    out[i + 16] = d * static_cast<float>(High(q[i]) - 8);
  }
}

void BlockQ41(const std::byte* block, float* out) {
  const float d = HalfToFloat(Word(block));
  const float m = HalfToFloat(Word(block + 2));
  const std::byte* q = block + 4;
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(Low(q[i])) + m;
    out[i + 16] = d * static_cast<float>(High(q[i])) + m;
  }
}

void BlockQ80(const std::byte* block, float* out) {
  const float d = HalfToFloat(Word(block));
  for (int i = 0; i < 32; ++i) {
    out[i] = d * static_cast<float>(Signed(block[2 + i]));
  }
}

struct ScaleAndMinimum {
  int scale;
  int minimum;
};

// Of group 0..7 in Q4_K's 12 packed bytes.
ScaleAndMinimum UnpackQ4K(const std::byte* packed, int group) {
  if (group < 4) {
    return {Unsigned(packed[group]) & 63, Unsigned(packed[group + 4]) & 63};
  }
  const std::byte low = packed[group + 4];
  return {
      Low(low) | Unsigned(packed[group - 4]) >> 6 << 4,
      High(low) | Unsigned(packed[group]) >> 6 << 4,
  };
}

void BlockQ4K(const std::byte* block, float* out) {
  const float d = HalfToFloat(Word(block));
  const float m = HalfToFloat(Word(block + 2));
  const std::byte* packed = block + 4;
  const std::byte* q = block + 16;
  for (int group = 0; group < 8; ++group) {
    const auto [scale, minimum] = UnpackQ4K(packed, group);
    const float group_scale = d * static_cast<float>(scale);
    const float group_minimum = m * static_cast<float>(minimum);
    for (int i = 0; i < 32; ++i) {
      const std::byte pair = q[group / 2 * 32 + i];
      const int code = group % 2 == 0 ? Low(pair) : High(pair);
      out[group * 32 + i] = group_scale * static_cast<float>(code) - group_minimum;
    }
  }
}

void BlockQ6K(const std::byte* block, float* out) {
  const std::byte* low = block;
  const std::byte* high = block + 128;
  const std::byte* scales = block + 192;
  const float d = HalfToFloat(Word(block + 208));
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int k = i % 128 / 32;
    const int l = i % 32;
    const std::byte pair = low[half * 64 + k % 2 * 32 + l];
    const int low_bits = k < 2 ? Low(pair) : High(pair);
    const int high_bits = Unsigned(high[half * 32 + l]) >> (2 * k) & 3;
    const float group_scale = d * static_cast<float>(Signed(scales[i / 16]));
    out[i] = group_scale * static_cast<float>((low_bits | high_bits << 4) - 32);
  }
}

using BlockFunction = void (*)(const std::byte* block, float* out);

BlockFunction FunctionOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return BlockF32;
    case ElementType::kF16:
      return BlockF16;
    case ElementType::kBF16:
      return BlockBf16;
    case ElementType::kQ4_0:
      return BlockQ40;
    case ElementType::kQ4_1:
      return BlockQ41;
    case ElementType::kQ8_0:
      return BlockQ80;
    case ElementType::kQ4_K:
      return BlockQ4K;
    case ElementType::kQ6_K:
      return BlockQ6K;
  }
  return nullptr;
}

}  // namespace

void DequantizeRow(ElementType type, const std::byte* blocks, std::size_t values, float* out) {
  const BlockLayout layout = LayoutOf(type);
  const BlockFunction read = FunctionOf(type);
  for (std::size_t block = 0; block < values / layout.values; ++block) {
    read(blocks + block * layout.bytes, out + block * layout.values);
  }
}

}  // namespace hearth
