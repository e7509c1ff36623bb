// Packed weights of a panel, a group at a time, as the bytes that tiles multiply.
#pragma once

#include <cstddef>

#include "kernels/amx/tile_internal.h"
#include "kernels/avx512/panel_simd_internal.h"
#include "kernels/matmul_quantized.h"

namespace hearth::amx {
namespace {

using Lanes = Avx512Lanes;

void StoreTile(std::byte* tile, std::size_t quad, __m512i bytes) {
  _mm512_store_si512(tile + 64 * quad, bytes);
}

// A matrix of bits for GFNI: bit i of the result is bit kFrom[i] of the source byte, or 0 where that is -1.
constexpr long long BitMatrix(const int (&from)[8]) {
  unsigned long long matrix = 0;
  for (int i = 0; i < 8; ++i) {
    if (from[i] >= 0) {
      matrix |= 1ull << (8 * (7 - i) + from[i]);
    }
  }
  return static_cast<long long>(matrix);
}

// One nibble of every byte, the one from bit kShift on, as 16 * (code - zero) and as code - zero; zero is 8 or 0.
template <bool kSigned, int kShift>
void UnpackNibble(__m512i both, __m512i* times16, __m512i* codes) {
  constexpr int k = kShift;
  constexpr long long kTimes16 = BitMatrix({-1, -1, -1, -1, k, k + 1, k + 2, k + 3});
  // Taking 8 off a code is turning bit 3 into a sign.
  constexpr int kUpper = kSigned ? k + 3 : -1;
  constexpr long long kCodes = BitMatrix({k, k + 1, k + 2, k + 3, kUpper, kUpper, kUpper, kUpper});
  *times16 = _mm512_gf2p8affine_epi64_epi8(both, _mm512_set1_epi64(kTimes16), kSigned ? 0x80 : 0);
  *codes = _mm512_gf2p8affine_epi64_epi8(both, _mm512_set1_epi64(kCodes), kSigned ? 0xf8 : 0);
}

// Nibbles as a tile of 16 * (code - zero) and code - zero, 8 quads each.
template <bool kSigned>
void UnpackNibbles(const std::byte* packed, std::byte* tile) {
  for (std::size_t i = 0; i < 4; ++i) {
    const __m512i both = Lanes::Load(packed + 64 * i);
    __m512i times16, codes;
    UnpackNibble<kSigned, 0>(both, &times16, &codes);
    StoreTile(tile, i, times16);
    StoreTile(tile, 8 + i, codes);
    UnpackNibble<kSigned, 4>(both, &times16, &codes);
    StoreTile(tile, 4 + i, times16);
    StoreTile(tile, 12 + i, codes);
  }
}

// The bytes of scale * (code - 32), 13 bits and a sign: the signed upper one and the unsigned lower one of each.
void SplitProducts(__m512i codes, __m512i scale, __m512i* upper, __m512i* lower) {
  const __m512i low_byte = _mm512_set1_epi16(0xff);
  const __m512i zero = _mm512_set1_epi16(32);
  const __m512i even =
      _mm512_mullo_epi16(_mm512_sub_epi16(_mm512_and_si512(codes, low_byte), zero), scale);
  const __m512i odd =
      _mm512_mullo_epi16(_mm512_sub_epi16(_mm512_srli_epi16(codes, 8), zero), scale);
  *lower = _mm512_or_si512(_mm512_and_si512(even, low_byte), _mm512_slli_epi16(odd, 8));
  *upper = _mm512_or_si512(_mm512_srli_epi16(even, 8), _mm512_andnot_si512(low_byte, odd));
}

// A group of kCode6Nested: products of scale and code, not codes.
void UnpackNested6(const std::byte* packed, std::byte* upper_bytes, std::byte* lower_bytes) {
  for (std::size_t half = 0; half < 2; ++half) {
    const __m512i scale = Lanes::SignedBytes(packed + 16 * half);
    const __m512i words = _mm512_or_si512(
        _mm512_and_si512(scale, _mm512_set1_epi32(0xffff)), _mm512_slli_epi32(scale, 16)
    );
    const __m512i pairs = Lanes::Load(packed + 288 + 64 * half);
    const __m512i two_bits[4] = {
        Lanes::TwoBits<0>(pairs),
        Lanes::TwoBits<1>(pairs),
        Lanes::TwoBits<2>(pairs),
        Lanes::TwoBits<3>(pairs),
    };
    for (std::size_t i = 0; i < 4; ++i) {
      const __m512i both = Lanes::Load(packed + 32 + 64 * i);
      const __m512i nibbles = half == 0 ? Lanes::Low4(both) : Lanes::High4(both);
      __m512i upper, lower;
      SplitProducts(_mm512_or_si512(nibbles, two_bits[i]), words, &upper, &lower);
      StoreTile(upper_bytes, 4 * half + i, upper);
      StoreTile(lower_bytes, 4 * half + i, lower);
    }
  }
}

// A group of a kind with 4-bit codes: its tile, and its scale and minimum (only with minima) for 16 outputs. `header` is
// that of the group's segment.
template <PanelKind kKind>
inline __attribute__((always_inline)) void UnpackCode4(
    const std::byte* header, const std::byte* packed, std::byte* tile, float* scale, float* minimum
) {
  if constexpr (kKind == PanelKind::kCode4Nested) {
    UnpackNibbles<false>(packed + 32, tile);
    _mm512_store_ps(scale, Lanes::Mul(Lanes::Halves(header), Lanes::Bytes(packed)));
    const __m512 product = Lanes::Mul(Lanes::Halves(header + 32), Lanes::Bytes(packed + 16));
    _mm512_store_ps(minimum, Lanes::Negate(product));
  } else {
    UnpackNibbles<kKind == PanelKind::kCode4>(packed, tile);
    _mm512_store_ps(scale, Lanes::Halves(packed + 256));
    if constexpr (kKind == PanelKind::kCode4Minimum) {
      _mm512_store_ps(minimum, Lanes::Halves(packed + 288));
    }
  }
}

// Asks for the group one segment after `packed`: a panel is one long stream.
template <PanelKind kKind>
inline __attribute__((always_inline)) void PrefetchNextSegment(const std::byte* packed) {
  for (std::size_t line = 0; line < GroupBytes(kKind); line += 64) {
    _mm_prefetch(
        reinterpret_cast<const char*>(packed) + kSegmentGroups * GroupBytes(kKind) + line,
        _MM_HINT_T0
    );
  }
}

}  // namespace
}  // namespace hearth::amx
