// One group of a panel as float32 vectors, written once for AVX2 and AVX-512. Each of them brings a type `Simd` of its
// own unnamed namespace with
//   Ints, Floats, kLanes                      vectors of kLanes 32-bit lanes: as many outputs
//   Load, Low4, High4, TwoBits<i>, Or, Halves, Bytes, SignedBytes, ToFloat, Set, Mul, Fma, Negate
//                                             as in kernels/panel_rows_internal.h; Add, LoadFloats, StoreFloats
//   Nibble<kShift, kZero>(words)              (4 bits from bit kShift on) - kZero as float32; kZero is 8 or 0
//   SignedByte<kByte>(words)                  byte kByte, signed, as float32
//   SubtractBytes(words, n)                   n taken off each byte
//   RoundBf16(floats)                         to nearest even bfloat16, as float32
#pragma once

#include <cstddef>
#include <utility>

#include "kernels/matmul_quantized.h"

namespace hearth::forms {
namespace {

enum class Form { kG, kR };

[[maybe_unused]] constexpr bool HasMinima(PanelKind kind) {
  return kind == PanelKind::kCode4Minimum || kind == PanelKind::kCode4Nested;
}

// Inputs that one scale covers.
[[maybe_unused]] constexpr std::size_t ScaleInputs(PanelKind kind) {
  return kind == PanelKind::kCode6Nested ? 16 : 32;
}

// Inputs of one block of products.
[[maybe_unused]] constexpr std::size_t BlockInputs(Form form, PanelKind kind) {
  return form == Form::kG ? ScaleInputs(kind) : 32;
}

template <std::size_t... kI, class Body>
inline __attribute__((always_inline)) void ForEachOf(std::index_sequence<kI...>, const Body& body) {
  (body.template operator()<kI>(), ...);
}

// body.template operator()<i>() for i = 0 .. kCount - 1, unrolled.
template <std::size_t kCount, class Body>
inline __attribute__((always_inline)) void ForEach(const Body& body) {
  ForEachOf(std::make_index_sequence<kCount>(), body);
}

// Outputs lane .. lane + kLanes - 1 of one group.
template <class Simd, PanelKind kKind>
class PanelGroup {
  using Ints = typename Simd::Ints;
  using Floats = typename Simd::Floats;

  static constexpr bool kNibbles = kKind != PanelKind::kCode8 && kKind != PanelKind::kCode6Nested;
  static constexpr std::size_t kScales = 32 / ScaleInputs(kKind);

 public:
  // `header` is that of the group's segment.
  inline __attribute__((always_inline)) PanelGroup(
      const std::byte* header, const std::byte* packed, std::size_t lane
  ) {
    if constexpr (kKind == PanelKind::kCode8) {
      ReadWords<8>(packed, lane);
      scale_[0] = Simd::Halves(packed + 512 + 2 * lane);
    } else if constexpr (kKind == PanelKind::kCode6Nested) {
      ReadCode6(packed, lane);
      const Floats d = Simd::Halves(header + 2 * lane);
      scale_[0] = Simd::Mul(d, Simd::ToFloat(Simd::SignedBytes(packed + lane)));
      scale_[1] = Simd::Mul(d, Simd::ToFloat(Simd::SignedBytes(packed + 16 + lane)));
    } else if constexpr (kKind == PanelKind::kCode4Nested) {
      ReadWords<4>(packed + 32, lane);
      scale_[0] = Simd::Mul(Simd::Halves(header + 2 * lane), Simd::Bytes(packed + lane));
      minimum_ = Simd::Negate(
          Simd::Mul(Simd::Halves(header + 32 + 2 * lane), Simd::Bytes(packed + 16 + lane))
      );
    } else {
      ReadWords<4>(packed, lane);
      scale_[0] = Simd::Halves(packed + 256 + 2 * lane);
      if constexpr (HasMinima(kKind)) {
        minimum_ = Simd::Halves(packed + 288 + 2 * lane);
      }
    }
  }

  // code - zero of input kInput of the group.
  template <std::size_t kInput>
  inline __attribute__((always_inline)) Floats Code() const {
    if constexpr (kNibbles) {
      constexpr int kZero = kKind == PanelKind::kCode4 ? 8 : 0;
      return Simd::template Nibble<8 * (kInput % 4) + 4 * (kInput / 16), kZero>(
          words_[kInput / 4 % 4]
      );
    } else {
      return Simd::template SignedByte<kInput % 4>(words_[kInput / 4]);
    }
  }

  // The weight in float32: what form R rounds.
  template <std::size_t kInput>
  inline __attribute__((always_inline)) Floats Weight() const {
    const Floats product = Simd::Mul(Code<kInput>(), scale_[kInput / ScaleInputs(kKind)]);
    if constexpr (HasMinima(kKind)) {
      return Simd::Add(product, minimum_);
    }
    return product;
  }

  // The scale of inputs ScaleInputs * index and on.
  Floats scale(std::size_t index) const { return scale_[index]; }

  Floats minimum() const { return minimum_; }

  // The packed words of nibble kinds: bytes of inputs 4 i .. 4 i + 3, and 16 above in the high nibbles.
  Ints words(std::size_t i) const { return words_[i]; }

 private:
  template <std::size_t kCount>
  void ReadWords(const std::byte* packed, std::size_t lane) {
    for (std::size_t i = 0; i < kCount; ++i) {
      words_[i] = Simd::Load(packed + 64 * i + 4 * lane);
    }
  }

  inline __attribute__((always_inline)) void ReadCode6(const std::byte* packed, std::size_t lane) {
    const Ints pairs[2] = {
        Simd::Load(packed + 288 + 4 * lane), Simd::Load(packed + 352 + 4 * lane)
    };
    ForEach<4>([&]<std::size_t kQuad>() __attribute__((always_inline)) {
      const Ints both = Simd::Load(packed + 32 + 64 * kQuad + 4 * lane);
      const Ints low = Simd::Or(Simd::Low4(both), Simd::template TwoBits<kQuad>(pairs[0]));
      const Ints high = Simd::Or(Simd::High4(both), Simd::template TwoBits<kQuad>(pairs[1]));
      words_[kQuad] = Simd::SubtractBytes(low, 32);
      words_[4 + kQuad] = Simd::SubtractBytes(high, 32);
    });
  }

  Ints words_[kNibbles ? 4 : 8];
  Floats scale_[kScales];
  Floats minimum_;  // only of kinds with minima
};

// call.template operator()<kind>() for the kind.
template <class Call>
void ForKind(PanelKind kind, const Call& call) {
  switch (kind) {
    case PanelKind::kCode4:
      return call.template operator()<PanelKind::kCode4>();
    case PanelKind::kCode4Minimum:
      return call.template operator()<PanelKind::kCode4Minimum>();
    case PanelKind::kCode8:
      return call.template operator()<PanelKind::kCode8>();
    case PanelKind::kCode4Nested:
      return call.template operator()<PanelKind::kCode4Nested>();
    case PanelKind::kCode6Nested:
      return call.template operator()<PanelKind::kCode6Nested>();
  }
}

// Where group `g` of a panel stands, and the header of its segment.
struct GroupPlace {
  const std::byte* header;
  const std::byte* group;
};

template <PanelKind kKind>
inline __attribute__((always_inline)) GroupPlace
PlaceOfGroup(const std::byte* panel, std::size_t g) {
  constexpr std::size_t kSegmentBytes = HeaderBytes(kKind) + kSegmentGroups * GroupBytes(kKind);
  const std::byte* header = panel + g / kSegmentGroups * kSegmentBytes;
  return {header, header + HeaderBytes(kKind) + g % kSegmentGroups * GroupBytes(kKind)};
}

// The panels of one thread are one long stream: asks for the lines 2 KB ahead.
template <PanelKind kKind>
inline __attribute__((always_inline)) void PrefetchBehind(const std::byte* group) {
  for (std::size_t line = 0; line < GroupBytes(kKind); line += 64) {
    __builtin_prefetch(group + 2048 + line);
  }
}

}  // namespace
}  // namespace hearth::forms
