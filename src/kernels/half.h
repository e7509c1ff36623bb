// Conversions between float32 and the two 16-bit formats, by moving bits. No library function and no mode of
// the processor takes part.
#pragma once

#include <bit>
#include <cstdint>

namespace hearth {

// Exact.
constexpr float Bf16ToFloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Exact; every float16, subnormals included, is a normal float32 or zero. A NaN becomes quiet and keeps
// the rest of its payload, as the processor's own conversion does.
constexpr float HalfToFloat(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  std::uint32_t exponent = (bits >> 10) & 0x1fu;
  std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  if (exponent == 0) {
    if (mantissa == 0) {
      return std::bit_cast<float>(sign);
    }
    const auto shift = static_cast<std::uint32_t>(std::countl_zero(mantissa)) - 21u;
    mantissa = (mantissa << shift) & 0x3ffu;
    return std::bit_cast<float>(sign | ((113 - shift) << 23) | (mantissa << 13));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

// To nearest, ties to even; denormals become zero of their sign, NaN stays NaN.
constexpr std::uint16_t FloatToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  }
  if (magnitude < 0x00800000u) {
    return static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  }
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// To nearest, ties to even, subnormal results included; what passes the largest float16 becomes infinity, NaN
// stays NaN.
constexpr std::uint16_t FloatToHalf(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<std::uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  }
  if (magnitude >= 0x47800000u) {  // 2^16 and more
    return static_cast<std::uint16_t>(sign | 0x7c00u);
  }
  if (magnitude < 0x33000000u) {  // below half of the least subnormal, 2^-25
    return static_cast<std::uint16_t>(sign);
  }
  // The result counts in units of the last place: 13 bits go for a normal one, more for a subnormal one.
  const std::uint32_t exponent = magnitude >> 23;
  const bool normal = exponent >= 113;
  const std::uint32_t drop = normal ? 13u : 126u - exponent;
  const std::uint32_t whole =
      normal ? magnitude - (112u << 23) : (magnitude & 0x7fffffu) | 0x800000u;
  const std::uint32_t kept = whole >> drop;
  const std::uint32_t rest = whole & ((1u << drop) - 1u);
  const std::uint32_t middle = 1u << (drop - 1u);
  const bool up = rest > middle || (rest == middle && (kept & 1u) != 0);
  return static_cast<std::uint16_t>(sign | (kept + (up ? 1u : 0u)));
}

}  // namespace hearth
