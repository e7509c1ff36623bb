// The sums of panel_rows_internal.h where byte products come as sums of two in 16 bits. `Lanes` brings, beside what is
// listed there,
//   Pairs(codes, planes, quad)   unsigned codes times one quad of a plane, neighbours added, in 16 bits
//   AddPairs                     sums in 16 bits
//   Widen(pairs, weight)         weight * (the sum of both halves of every 32-bit lane)
//   Times16                      32-bit lanes
// With |high| <= 127 and |low| <= 8 the 16 bits hold 16 products of codes below 16 with high bytes (30480), four of codes
// below 64 (32004), and any number used here with low bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quantize_rows.h"

namespace hearth {
namespace {

template <class Lanes>
struct PairSums : Lanes {
  using Ints = typename Lanes::Ints;

  static Ints Sum4(const Ints* codes, const std::int8_t* planes, std::int32_t offset) {
    Ints high = Lanes::Zero();
    Ints low = Lanes::Zero();
    for (std::size_t i = 0; i < 8; ++i) {
      high = Lanes::AddPairs(high, Lanes::Pairs(codes[i], planes, i));
      low = Lanes::AddPairs(low, Lanes::Pairs(codes[i], planes + kGroupInputs, i));
    }
    const Ints start = Lanes::SetInt(offset);
    return Lanes::AddInt(Lanes::AddInt(start, Lanes::Widen(high, 16)), Lanes::Widen(low, 1));
  }

  static Ints Sum6(const Ints* codes, const std::int8_t* planes, std::int32_t offset) {
    const auto pairs = [&](std::size_t quad) { return Lanes::Pairs(codes[quad], planes, quad); };
    const Ints first = Lanes::AddPairs(pairs(0), pairs(1));
    const Ints second = Lanes::AddPairs(pairs(2), pairs(3));
    Ints low = Lanes::Zero();
    for (std::size_t i = 0; i < 4; ++i) {
      low = Lanes::AddPairs(low, Lanes::Pairs(codes[i], planes + kGroupInputs, i));
    }
    const Ints wide = Lanes::AddInt(Lanes::Widen(first, 16), Lanes::Widen(second, 16));
    return Lanes::AddInt(Lanes::AddInt(Lanes::SetInt(16 * offset), wide), Lanes::Widen(low, 1));
  }

  // Codes of 8 bits are two of four: 16 times the upper half, plus the lower.
  static Ints Sum8(const Ints* codes, const std::int8_t* planes, std::int32_t offset) {
    Ints upper[8];
    Ints lower[8];
    for (std::size_t i = 0; i < 8; ++i) {
      upper[i] = Lanes::High4(codes[i]);
      lower[i] = Lanes::Low4(codes[i]);
    }
    return Lanes::AddInt(Lanes::Times16(Sum4(upper, planes, offset)), Sum4(lower, planes, 0));
  }
};

}  // namespace
}  // namespace hearth
