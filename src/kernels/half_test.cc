#include "kernels/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace hearth {
namespace {

std::uint32_t BitsOf(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// The value of a finite float16 by its definition, in double.
double HalfByDefinition(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double mantissa = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryHalfIsReadByDefinition) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = HalfToFloat(static_cast<std::uint16_t>(bits));
    const bool negative = (bits & 0x8000) != 0;
    EXPECT_EQ(std::signbit(value), negative) << bits;
    if ((bits & 0x7c00) != 0x7c00) {
      EXPECT_EQ(static_cast<double>(value), HalfByDefinition(bits)) << bits;
    } else if ((bits & 0x3ff) == 0) {
      EXPECT_TRUE(std::isinf(value)) << bits;
    } else {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_NE(BitsOf(value) & 0x400000, 0u) << bits;  // quiet
    }
  }
}

TEST(Half, EveryHalfSurvivesTheWayBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bool nan = (bits & 0x7fff) > 0x7c00;
    const std::uint32_t expected = nan ? bits | 0x200 : bits;
    EXPECT_EQ(FloatToHalf(HalfToFloat(static_cast<std::uint16_t>(bits))), expected);
  }
}

TEST(Half, RoundsToNearestAndTiesToEven) {
  // Between each two neighbours, largest finite and infinity included: the midpoint, and one float32 to each side.
  for (std::uint32_t low = 0; low < 0x7c00; ++low) {
    const std::uint32_t high = low + 1;
    const double upper = high == 0x7c00 ? 65536.0 : HalfByDefinition(high);
    const auto middle = static_cast<float>((HalfByDefinition(low) + upper) / 2);
    const std::uint32_t even = low % 2 == 0 ? low : high;
    EXPECT_EQ(FloatToHalf(middle), even) << low;
    EXPECT_EQ(FloatToHalf(std::nextafter(middle, 0.0f)), low) << low;
    EXPECT_EQ(FloatToHalf(std::nextafter(middle, 1e30f)), high) << low;
    EXPECT_EQ(FloatToHalf(-middle), even | 0x8000) << low;
  }
  EXPECT_EQ(FloatToHalf(1e38f), 0x7c00);
  EXPECT_EQ(FloatToHalf(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(FloatToHalf(-0x1p-149f), 0x8000);
}

TEST(Half, NanStaysNan) {
  // The payload that would vanish when cut must not leave infinity.
  for (const std::uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xff800001u, 0xffffffffu}) {
    const float nan = std::bit_cast<float>(bits);
    EXPECT_GT(FloatToHalf(nan) & 0x7fff, 0x7c00) << bits;
    EXPECT_GT(FloatToBf16(nan) & 0x7fff, 0x7f80) << bits;
    EXPECT_EQ(FloatToHalf(nan) >> 15, bits >> 31);
    EXPECT_EQ(FloatToBf16(nan) >> 15, bits >> 31);
  }
}

TEST(Bf16, IsTheUpperHalfOfAFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    EXPECT_EQ(BitsOf(Bf16ToFloat(static_cast<std::uint16_t>(bits))), bits << 16);
  }
}

TEST(Bf16, RoundsToNearestAndTiesToEven) {
  // Every normal bf16 of either sign; the largest rounds to infinity.
  for (std::uint32_t low = 0x0080; low < 0x7f80; ++low) {
    const std::uint32_t middle = low << 16 | 0x8000;
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      const std::uint32_t wide = sign << 16;
      EXPECT_EQ(FloatToBf16(std::bit_cast<float>(wide | low << 16)), sign | low);
      EXPECT_EQ(FloatToBf16(std::bit_cast<float>(wide | middle)), sign | (low + low % 2)) << low;
      EXPECT_EQ(FloatToBf16(std::bit_cast<float>(wide | (middle - 1))), sign | low);
      EXPECT_EQ(FloatToBf16(std::bit_cast<float>(wide | (middle + 1))), sign | (low + 1));
    }
  }
  EXPECT_EQ(FloatToBf16(std::numeric_limits<float>::infinity()), 0x7f80);
}

TEST(Bf16, DenormalsBecomeZeroOfTheirSign) {
  for (const std::uint32_t bits : {0x00000001u, 0x00400000u, 0x007fffffu}) {
    EXPECT_EQ(FloatToBf16(std::bit_cast<float>(bits)), 0x0000);
    EXPECT_EQ(FloatToBf16(std::bit_cast<float>(bits | 0x80000000u)), 0x8000);
  }
  EXPECT_EQ(FloatToBf16(std::numeric_limits<float>::min()), 0x0080);
}

}  // namespace
}  // namespace hearth
