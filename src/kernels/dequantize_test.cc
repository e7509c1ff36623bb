// Small blocks written by hand; recorded ones are in tests/parity/dequant.
#include "kernels/dequantize.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace hearth {
namespace {

constexpr std::uint16_t kHalfOne = 0x3c00;
constexpr std::uint16_t kHalfTwo = 0x4000;
constexpr std::uint16_t kLeastHalf = 0x0001;  // 2^-24

// A block of one type, all zero, to be filled by hand.
struct Block {
  explicit Block(ElementType element_type)
      : type(element_type), bytes(LayoutOf(element_type).bytes) {}

  Block& Half(std::size_t at, std::uint16_t bits) {
    std::memcpy(&bytes[at], &bits, 2);
    return *this;
  }

  Block& Byte(std::size_t at, int value) {
    bytes[at] = static_cast<std::byte>(value);
    return *this;
  }

  std::vector<float> Values() const {
    std::vector<float> out(LayoutOf(type).values, -12345.0f);
    DequantizeRow(type, bytes.data(), out.size(), out.data());
    return out;
  }

  ElementType type;
  std::vector<std::byte> bytes;
};

TEST(Dequantize, Q4_0) {
  const std::vector<float> v =
      Block(ElementType::kQ4_0).Half(0, kHalfTwo).Byte(2, 0x9f).Byte(17, 0x08).Values();
  EXPECT_EQ(v[0], 14.0f);
  EXPECT_EQ(v[16], 2.0f);
  EXPECT_EQ(v[1], -16.0f);
  EXPECT_EQ(v[15], 0.0f);
  EXPECT_EQ(v[31], -16.0f);
}

TEST(Dequantize, Q4_1) {
  const std::vector<float> v = Block(ElementType::kQ4_1)
                                   .Half(0, kHalfTwo)
                                   .Half(2, kHalfOne)
                                   .Byte(4, 0x9f)
                                   .Byte(19, 0x10)
                                   .Values();
  EXPECT_EQ(v[0], 31.0f);
  EXPECT_EQ(v[16], 19.0f);
  EXPECT_EQ(v[15], 1.0f);
  EXPECT_EQ(v[31], 3.0f);
}

TEST(Dequantize, Q8_0WithASubnormalScale) {
  const std::vector<float> v =
      Block(ElementType::kQ8_0).Half(0, kLeastHalf).Byte(2, -128).Byte(33, 127).Values();
  EXPECT_EQ(v[0], -0x1p-17f);
  EXPECT_EQ(v[1], 0.0f);
  EXPECT_EQ(v[31], 127 * 0x1p-24f);
}

TEST(Dequantize, Q4_K) {
  // Groups 1 and 6: scale 63 and minimum 1; scale 0x2a and minimum 0x15, of which the upper bits stand with group 2.
  const std::vector<float> v = Block(ElementType::kQ4_K)
                                   .Half(0, kHalfTwo)
                                   .Half(2, kHalfOne)
                                   .Byte(4 + 1, 63)
                                   .Byte(4 + 5, 1)
                                   .Byte(4 + 2, 0x2 << 6)
                                   .Byte(4 + 6, 0x1 << 6)
                                   .Byte(4 + 10, 0x5a)
                                   .Byte(16, 0xf1)
                                   .Byte(16 + 96 + 31, 0x0f)
                                   .Values();
  EXPECT_EQ(v[0], 0.0f);
  EXPECT_EQ(v[32], 2 * 63 * 15 - 1.0f);
  EXPECT_EQ(v[33], -1.0f);
  EXPECT_EQ(v[192 + 31], 2 * 0x2a * 15 - 21.0f);
  EXPECT_EQ(v[192], -21.0f);
  EXPECT_EQ(v[64], 0.0f);  // the upper bits are not scales of group 2
}

TEST(Dequantize, Q6_K) {
  // Value 128 + 96 + 5: second half, k = 3, group 14; value 128 + 64 + 7: k = 2, group 12.
  const std::vector<float> v = Block(ElementType::kQ6_K)
                                   .Byte(64 + 32 + 5, 0x90)
                                   .Byte(128 + 32 + 5, 0x3 << 6)
                                   .Byte(64 + 7, 0x20)
                                   .Byte(192 + 14, -3)
                                   .Byte(192 + 12, 1)
                                   .Byte(192, 1)
                                   .Half(208, kHalfTwo)
                                   .Values();
  EXPECT_EQ(v[229], 2 * -3 * ((0x39) - 32.0f));
  EXPECT_EQ(v[199], 2 * (2 - 32.0f));
  EXPECT_EQ(v[228], 2 * -3 * -32.0f);
  EXPECT_EQ(v[0], -64.0f);
  EXPECT_EQ(v[16], 0.0f);
}

TEST(Dequantize, FloatsKeepTheirBits) {
  const std::vector<float> f32{1.5f, -0.0f, 0x1p-149f};
  std::vector<float> out(3);
  DequantizeRow(ElementType::kF32, reinterpret_cast<const std::byte*>(f32.data()), 3, out.data());
  EXPECT_EQ(std::memcmp(out.data(), f32.data(), 12), 0);
  const std::vector<std::uint16_t> f16{kHalfOne, 0xc000, kLeastHalf};
  DequantizeRow(ElementType::kF16, reinterpret_cast<const std::byte*>(f16.data()), 3, out.data());
  EXPECT_EQ(out, (std::vector<float>{1.0f, -2.0f, 0x1p-24f}));
  const std::vector<std::uint16_t> bf16{0x3f80, 0xc000, 0x0001};
  DequantizeRow(ElementType::kBF16, reinterpret_cast<const std::byte*>(bf16.data()), 3, out.data());
  EXPECT_EQ(out, (std::vector<float>{1.0f, -2.0f, 0x1p-133f}));
}

TEST(Dequantize, RowsOfSeveralBlocksAtAnyAddress) {
  std::vector<std::byte> bytes(1 + 3 * 34);
  for (std::size_t block = 0; block < 3; ++block) {
    std::memcpy(&bytes[1 + block * 34], &kHalfOne, 2);
    bytes[1 + block * 34 + 2] = static_cast<std::byte>(block + 1);
  }
  std::vector<float> out(97, 9.0f);
  DequantizeRow(ElementType::kQ8_0, bytes.data() + 1, 96, out.data());
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[32], 2.0f);
  EXPECT_EQ(out[64], 3.0f);
  EXPECT_EQ(out[96], 9.0f);
}

}  // namespace
}  // namespace hearth
