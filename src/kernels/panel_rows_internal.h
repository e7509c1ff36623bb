// The quantized product of a few rows, written once for the instruction sets without tiles. Each of them brings a
// type `Simd` of its own unnamed namespace, so that every instance has internal linkage:
//   Ints, Floats            vectors of kLanes 32-bit lanes (an Ints is also read as 4 * kLanes bytes); kLanes
//                           outputs at a time, so a panel is 16 / kLanes of them
//   kRows                   rows that share the unpacked codes of a group
//   Zero, SetInt, Set, Load, Low4, High4, TwoBits<i> (bits 2 i, 2 i + 1 of every byte, moved to bits 4, 5), Or,
//   FlipSign (bytes ^ 0x80)
//   AddInt, MulInt, ToFloat, Mul, Fma, Negate
//   Halves (kLanes float16), Bytes (unsigned, to Floats), SignedBytes (to Ints)
//   Store(out, y, count, add)
//   Sum4(codes, planes, offset)    offset + sum of code * a over 8 quads of codes below 16
//   Sum6(codes, planes, offset)    16 * offset + the same over 4 quads of codes below 64
//   Sum8(codes, planes, offset)    16 * offset + the same over 8 quads of codes below 256
// where `planes` are the high bytes and the low ones stand kGroupInputs behind.
#pragma once

#include <cstddef>

#include "kernels/matmul_quantized.h"

namespace hearth {
namespace {

template <class Simd, PanelKind kKind>
class PanelRows {
  using Ints = typename Simd::Ints;
  using Floats = typename Simd::Floats;

  static constexpr std::size_t kLanes = Simd::kLanes;
  static constexpr std::size_t kQuads = kGroupInputs / 4;
  static constexpr bool kMinima =
      kKind == PanelKind::kCode4Minimum || kKind == PanelKind::kCode4Nested;

 public:
  static void Run(const MatmulQuantizedArgs& args) {
    for (std::size_t panel = args.first_panel; panel < args.last_panel; ++panel) {
      std::size_t row = args.first_row;
      for (; row + Simd::kRows <= args.last_row; row += Simd::kRows) {
        Rows<Simd::kRows>(args, panel, row);
      }
      switch (args.last_row - row) {
        case 3:
          Rows<3>(args, panel, row);
          break;
        case 2:
          Rows<2>(args, panel, row);
          break;
        case 1:
          Rows<1>(args, panel, row);
          break;
        default:
          break;
      }
    }
  }

 private:
  static_assert(Simd::kRows <= 4, "Run handles up to three rows that are left over");

  template <std::size_t kRows>
  static void Rows(const MatmulQuantizedArgs& args, std::size_t panel, std::size_t row) {
    for (std::size_t lane = 0; lane < kPanelOutputs; lane += kLanes) {
      Outputs<kRows>(args, panel, lane, row);
    }
  }

  // Outputs lane .. lane + kLanes - 1 of a panel.
  template <std::size_t kRows>
  static void Outputs(
      const MatmulQuantizedArgs& args, std::size_t panel, std::size_t lane, std::size_t first_row
  ) {
    const std::size_t groups = args.weights.groups;
    const std::size_t segments = SegmentCount(groups);
    const RowPlace place = PlaceOf(first_row, args.rows.rows);
    const std::byte* packed = args.weights.data + panel * PanelBytes(kKind, groups);
    Floats y[kRows];
    for (std::size_t row = 0; row < kRows; ++row) {
      y[row] = Simd::Set(0.0f);
    }
    for (std::size_t s = 0; s < segments; ++s) {
      Floats p[kRows];
      if constexpr (kKind == PanelKind::kCode6Nested) {
        packed = NestedSegment<kRows>(args, place, packed, lane, s, p);
      } else {
        packed = ScaledSegment<kRows>(args, place, packed, lane, s, p);
      }
      for (std::size_t row = 0; row < kRows; ++row) {
        const float factor = args.rows.factor[place.At(s, segments) + row];
        y[row] = Simd::Fma(p[row], Simd::Set(factor), y[row]);
      }
    }
    const std::size_t column = panel * kPanelOutputs + lane;
    if (column >= args.weights.outputs) {
      return;
    }
    const std::size_t rest = args.weights.outputs - column;
    for (std::size_t row = 0; row < kRows; ++row) {
      float* out = args.out + (first_row + row) * args.out_stride + column;
      Simd::Store(out, y[row], rest < kLanes ? rest : kLanes, args.add);
    }
  }

  static std::size_t LastGroup(const MatmulQuantizedArgs& args, std::size_t segment) {
    const std::size_t last = (segment + 1) * kSegmentGroups;
    return last < args.weights.groups ? last : args.weights.groups;
  }

  static void LoadNibbles(const std::byte* packed, std::size_t lane, Ints* codes) {
    for (std::size_t i = 0; i < kQuads / 2; ++i) {
      const Ints both = Simd::Load(packed + 64 * i + 4 * lane);
      codes[i] = Simd::Low4(both);
      codes[i + kQuads / 2] = Simd::High4(both);
    }
  }

  template <std::size_t kRows>
  static const std::byte* ScaledSegment(
      const MatmulQuantizedArgs& args,
      const RowPlace& place,
      const std::byte* packed,
      std::size_t lane,
      std::size_t segment,
      Floats* p
  ) {
    constexpr bool kNested = kKind == PanelKind::kCode4Nested;
    const std::byte* header = packed;
    packed += HeaderBytes(kKind);
    for (std::size_t row = 0; row < kRows; ++row) {
      p[row] = Simd::Set(0.0f);
    }
    const std::size_t last = LastGroup(args, segment);
    for (std::size_t g = segment * kSegmentGroups; g < last; ++g, packed += GroupBytes(kKind)) {
      Simd::Prefetch(packed);
      Ints codes[kQuads];
      Floats scale, minimum;
      if constexpr (kKind == PanelKind::kCode8) {
        for (std::size_t i = 0; i < kQuads; ++i) {
          codes[i] = Simd::FlipSign(Simd::Load(packed + 64 * i + 4 * lane));
        }
        scale = Simd::Halves(packed + 512 + 2 * lane);
      } else {
        LoadNibbles(packed + (kNested ? 32 : 0), lane, codes);
        if constexpr (kNested) {
          scale = Simd::Mul(Simd::Halves(header + 2 * lane), Simd::Bytes(packed + lane));
          minimum = Simd::Negate(
              Simd::Mul(Simd::Halves(header + 32 + 2 * lane), Simd::Bytes(packed + 16 + lane))
          );
        } else {
          scale = Simd::Halves(packed + 256 + 2 * lane);
          if constexpr (kMinima) {
            minimum = Simd::Halves(packed + 288 + 2 * lane);
          }
        }
      }
      const std::size_t at = place.At(g, args.weights.groups);
      for (std::size_t row = 0; row < kRows; ++row) {
        const std::int8_t* planes = args.rows.planes + (at + row) * 2 * kGroupInputs;
        Ints sum;
        if constexpr (kKind == PanelKind::kCode8) {
          sum = Simd::Sum8(codes, planes, args.rows.offset[at + row]);
        } else {
          sum = Simd::Sum4(codes, planes, kMinima ? 0 : args.rows.offset[at + row]);
        }
        p[row] = Simd::Fma(Simd::ToFloat(sum), scale, p[row]);
        if constexpr (kMinima) {
          p[row] = Simd::Fma(Simd::Set(args.rows.sum[at + row]), minimum, p[row]);
        }
      }
    }
    return packed;
  }

  template <std::size_t kRows>
  static const std::byte* NestedSegment(
      const MatmulQuantizedArgs& args,
      const RowPlace& place,
      const std::byte* packed,
      std::size_t lane,
      std::size_t segment,
      Floats* p
  ) {
    const Floats d = Simd::Halves(packed + 2 * lane);
    packed += HeaderBytes(kKind);
    Ints nested[kRows];
    for (std::size_t row = 0; row < kRows; ++row) {
      nested[row] = Simd::Zero();
    }
    const std::size_t last = LastGroup(args, segment);
    for (std::size_t g = segment * kSegmentGroups; g < last; ++g, packed += GroupBytes(kKind)) {
      Simd::Prefetch(packed);
      Ints codes[kQuads];
      LoadNibbles(packed + 32, lane, codes);
      AddPairs<0>(Simd::Load(packed + 288 + 4 * lane), codes);
      AddPairs<4>(Simd::Load(packed + 352 + 4 * lane), codes);
      for (std::size_t half = 0; half < 2; ++half) {
        const Ints scale = Simd::SignedBytes(packed + 16 * half + lane);
        const std::size_t half_at = place.At(2 * g + half, 2 * args.weights.groups);
        const std::size_t at = place.At(g, args.weights.groups);
        for (std::size_t row = 0; row < kRows; ++row) {
          const std::int8_t* planes =
              args.rows.planes + (at + row) * 2 * kGroupInputs + half * kGroupInputs / 2;
          const Ints sum =
              Simd::Sum6(codes + half * kQuads / 2, planes, args.rows.half_offset[half_at + row]);
          nested[row] = Simd::AddInt(nested[row], Simd::MulInt(sum, scale));
        }
      }
    }
    for (std::size_t row = 0; row < kRows; ++row) {
      p[row] = Simd::Mul(Simd::ToFloat(nested[row]), d);
    }
    return packed;
  }

  // Sets bits 4 and 5 of four quads of codes.
  template <std::size_t kFirst>
  static void AddPairs(Ints pairs, Ints* codes) {
    codes[kFirst] = Simd::Or(codes[kFirst], Simd::template TwoBits<0>(pairs));
    codes[kFirst + 1] = Simd::Or(codes[kFirst + 1], Simd::template TwoBits<1>(pairs));
    codes[kFirst + 2] = Simd::Or(codes[kFirst + 2], Simd::template TwoBits<2>(pairs));
    codes[kFirst + 3] = Simd::Or(codes[kFirst + 3], Simd::template TwoBits<3>(pairs));
  }
};

// All of `args` by the instance of its kind.
template <class Simd>
void RunPanelRows(const MatmulQuantizedArgs& args) {
  switch (args.weights.kind) {
    case PanelKind::kCode4:
      return PanelRows<Simd, PanelKind::kCode4>::Run(args);
    case PanelKind::kCode4Minimum:
      return PanelRows<Simd, PanelKind::kCode4Minimum>::Run(args);
    case PanelKind::kCode8:
      return PanelRows<Simd, PanelKind::kCode8>::Run(args);
    case PanelKind::kCode4Nested:
      return PanelRows<Simd, PanelKind::kCode4Nested>::Run(args);
    case PanelKind::kCode6Nested:
      return PanelRows<Simd, PanelKind::kCode6Nested>::Run(args);
  }
}

}  // namespace
}  // namespace hearth
