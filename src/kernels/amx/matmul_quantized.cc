// Quantized products on tiles: 16 rows by 16 outputs, a group of 32 inputs at a time. A row of the activations' tile is
// the 32 high bytes and the 32 low ones of a group; against 16 * code and code in the weights' tile one product gives the
// group's sum at once. Codes wider than 4 bits have no room for that and take a product a plane.
#include "kernels/matmul_quantized.h"

#include "kernels/amx/tile_internal.h"
#include "kernels/avx512/panel_simd_internal.h"

namespace hearth::amx {
namespace {

using Lanes = Avx512Lanes;

// Panels that share a pass over the activations: more rows gain from a second one, few rows from the room in the
// first-level cache (measured: 16 rows 30 ns a tile product with one panel, 36 with two; 256 rows 23 and 22).
constexpr std::size_t kPanels = 2;
constexpr std::size_t kFewTiles = 2;
// A tile product costs as much as about this many rows without tiles.
constexpr std::size_t kFewestRows = 6;
// Activations of one pass, so that they stay in the second-level cache.
constexpr std::size_t kPassBytes = std::size_t{1} << 20;
constexpr std::size_t kMostPassTiles = 32;

constexpr std::size_t kHalfTile = kTileBytes / 2;

// One segment of one panel, unpacked for the tiles. The bytes of kCode8 and kCode6Nested are half tiles (8 quads) that
// stand between half tiles of zeros: a tile that starts at such bytes meets the high plane, one that starts at the
// zeros before them the low plane. The zeros are written once for a call.
struct Segment {
  alignas(64) std::byte tiles[(4 * kSegmentGroups + 1) * kHalfTile];
  alignas(64) float scale[kSegmentGroups][kPanelOutputs];  // kCode6Nested: d in the first
  alignas(64) float minimum[kSegmentGroups][kPanelOutputs];

  // The half tile of bytes number `index`.
  std::byte* Bytes(std::size_t index) { return tiles + (2 * index + 1) * kHalfTile; }

  const std::byte* Bytes(std::size_t index) const { return tiles + (2 * index + 1) * kHalfTile; }
};

// Sums of tile products, waiting to be scaled.
struct Sums {
  alignas(64) std::int32_t of[4][kRowTile][kPanelOutputs];
};

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

// Unpacks `groups` groups of a segment; returns where the next segment starts.
template <PanelKind kKind>
const std::byte* Unpack(const std::byte* packed, std::size_t groups, Segment& segment) {
  const std::byte* header = packed;
  packed += HeaderBytes(kKind);
  if constexpr (kKind == PanelKind::kCode6Nested) {
    _mm512_store_ps(segment.scale[0], Lanes::Halves(header));
  }
  for (std::size_t g = 0; g < groups; ++g, packed += GroupBytes(kKind)) {
    for (std::size_t line = 0; line < GroupBytes(kKind); line += 64) {
      _mm_prefetch(
          reinterpret_cast<const char*>(packed) + kSegmentGroups * GroupBytes(kKind) + line,
          _MM_HINT_T0
      );
    }
    if constexpr (kKind == PanelKind::kCode4 || kKind == PanelKind::kCode4Minimum) {
      UnpackNibbles<kKind == PanelKind::kCode4>(packed, segment.tiles + g * kTileBytes);
      _mm512_store_ps(segment.scale[g], Lanes::Halves(packed + 256));
      if constexpr (kKind == PanelKind::kCode4Minimum) {
        _mm512_store_ps(segment.minimum[g], Lanes::Halves(packed + 288));
      }
    } else if constexpr (kKind == PanelKind::kCode4Nested) {
      UnpackNibbles<false>(packed + 32, segment.tiles + g * kTileBytes);
      _mm512_store_ps(segment.scale[g], Lanes::Mul(Lanes::Halves(header), Lanes::Bytes(packed)));
      const __m512 minimum = Lanes::Mul(Lanes::Halves(header + 32), Lanes::Bytes(packed + 16));
      _mm512_store_ps(segment.minimum[g], Lanes::Negate(minimum));
    } else if constexpr (kKind == PanelKind::kCode8) {
      for (std::size_t quad = 0; quad < 8; ++quad) {
        StoreTile(segment.Bytes(g), quad, Lanes::Load(packed + 64 * quad));
      }
      _mm512_store_ps(segment.scale[g], Lanes::Halves(packed + 512));
    } else {
      UnpackNested6(packed, segment.Bytes(2 * g), segment.Bytes(2 * g + 1));
    }
  }
  return packed;
}

// One segment of 16 rows.
struct RowSegment {
  const std::int8_t* planes;  // [groups][rows][64]
  std::size_t rows;           // in the tile; the tile products read 16
  const float* sum;           // [groups][rows]
};

template <bool kSigned, int kSum, int kA, int kB>
inline __attribute__((always_inline)) void CodeProduct(
    const RowSegment& x, const Segment& w, std::size_t g
) {
  TileLoad<kA>(x.planes + g * x.rows * 64, 64);
  TileLoad<kB>(w.tiles + g * kTileBytes, 64);
  TileZero<kSum>();
  if constexpr (kSigned) {
    TileProductSigned<kSum, kA, kB>();
  } else {
    TileProductUnsigned<kSum, kA, kB>();
  }
}

// Starts group g into sum tile `slot`, one of four; `slot` is a constant once the loop is unrolled.
template <bool kSigned>
inline __attribute__((always_inline)) void StartGroup(
    const RowSegment& x, const Segment& w, std::size_t g, std::size_t slot
) {
  switch (slot) {
    case 0:
      return CodeProduct<kSigned, 0, 4, 5>(x, w, g);
    case 1:
      return CodeProduct<kSigned, 1, 6, 7>(x, w, g);
    case 2:
      return CodeProduct<kSigned, 2, 4, 5>(x, w, g);
    default:
      return CodeProduct<kSigned, 3, 6, 7>(x, w, g);
  }
}

inline __attribute__((always_inline)) void StoreSums(std::size_t slot, Sums& sums) {
  switch (slot) {
    case 0:
      return TileStore<0>(sums.of[0], 64);
    case 1:
      return TileStore<1>(sums.of[1], 64);
    case 2:
      return TileStore<2>(sums.of[2], 64);
    default:
      return TileStore<3>(sums.of[3], 64);
  }
}

template <bool kMinima>
inline __attribute__((always_inline)) void Scale(
    const RowSegment& x,
    const Segment& w,
    std::size_t g,
    const std::int32_t (&sums)[kRowTile][kPanelOutputs],
    __m512* p
) {
  const __m512 scale = _mm512_load_ps(w.scale[g]);
  const __m512 minimum = kMinima ? _mm512_load_ps(w.minimum[g]) : scale;
  const float* sum = x.sum + g * x.rows;
#pragma GCC unroll 16
  for (std::size_t row = 0; row < kRowTile; ++row) {
    p[row] = Lanes::Fma(Lanes::ToFloat(_mm512_load_si512(sums[row])), scale, p[row]);
    if constexpr (kMinima) {
      p[row] = Lanes::Fma(Lanes::Set(sum[row]), minimum, p[row]);
    }
  }
}

// p += groups first .. first + kGroups - 1. A group's tile product, its store and its scaling are two and three
// steps apart, so that each is done when it is needed.
template <bool kSigned, bool kMinima, std::size_t kGroups>
inline __attribute__((always_inline)) void Code4Groups(
    const RowSegment& x, const Segment& w, std::size_t first, Sums& sums, __m512* p
) {
#pragma GCC unroll 12
  for (std::size_t step = 0; step < kGroups + 3; ++step) {
    if (step < kGroups) {
      StartGroup<kSigned>(x, w, first + step, step % 4);
    }
    if (step >= 2 && step - 2 < kGroups) {
      StoreSums((step - 2) % 4, sums);
    }
    if (step >= 3) {
      Scale<kMinima>(x, w, first + step - 3, sums.of[(step - 3) % 4], p);
    }
  }
}

// A group of kCode8: the sums of the high and of the low plane in tiles kSum and kSum + 1.
template <int kSum, int kA>
inline __attribute__((always_inline)) void StartCode8(
    const RowSegment& x, const Segment& w, std::size_t g
) {
  TileLoad<kA>(x.planes + g * x.rows * 64, 64);
  TileLoad<5>(w.Bytes(g), 64);
  TileZero<kSum>();
  TileProductSigned<kSum, kA, 5>();
  TileLoad<7>(w.Bytes(g) - kHalfTile, 64);
  TileZero<kSum + 1>();
  TileProductSigned<kSum + 1, kA, 7>();
}

template <std::size_t kGroups>
inline __attribute__((always_inline)) void Code8Groups(
    const RowSegment& x, const Segment& w, std::size_t first, Sums& sums, __m512* p
) {
#pragma GCC unroll 12
  for (std::size_t step = 0; step < kGroups + 2; ++step) {
    if (step < kGroups) {
      step % 2 == 0 ? StartCode8<0, 4>(x, w, first + step) : StartCode8<2, 6>(x, w, first + step);
    }
    if (step >= 1 && step - 1 < kGroups) {
      const std::size_t slot = (step - 1) % 2 * 2;
      StoreSums(slot, sums);
      StoreSums(slot + 1, sums);
    }
    if (step >= 2) {
      const __m512 scale = _mm512_load_ps(w.scale[first + step - 2]);
      const auto& high = sums.of[step % 2 * 2];
      const auto& low = sums.of[step % 2 * 2 + 1];
#pragma GCC unroll 16
      for (std::size_t row = 0; row < kRowTile; ++row) {
        const __m512i upper = _mm512_slli_epi32(_mm512_load_si512(high[row]), 4);
        const __m512i sum = Lanes::AddInt(upper, _mm512_load_si512(low[row]));
        p[row] = Lanes::Fma(Lanes::ToFloat(sum), scale, p[row]);
      }
    }
  }
}

// The four products of planes and bytes stay in tiles 0 .. 3 over the whole segment.
template <int kA>
inline __attribute__((always_inline)) void AddCode6(
    const RowSegment& x, const Segment& w, std::size_t g
) {
  const std::byte* upper = w.Bytes(2 * g);
  const std::byte* lower = w.Bytes(2 * g + 1);
  TileLoad<kA>(x.planes + g * x.rows * 64, 64);
  TileLoad<5>(upper, 64);
  TileProductSigned<0, kA, 5>();  // high, upper
  TileLoad<7>(upper - kHalfTile, 64);
  TileProductSigned<1, kA, 7>();  // low, upper
  TileLoad<5>(lower, 64);
  TileProductUnsigned<2, kA, 5>();  // high, lower
  TileLoad<7>(lower - kHalfTile, 64);
  TileProductUnsigned<3, kA, 7>();  // low, lower
}

void Code6(const RowSegment& x, const Segment& w, std::size_t groups, Sums& sums, __m512* p) {
  TileZero<0>();
  TileZero<1>();
  TileZero<2>();
  TileZero<3>();
  for (std::size_t g = 0; g < groups; ++g) {
    g % 2 == 0 ? AddCode6<4>(x, w, g) : AddCode6<6>(x, w, g);
  }
  TileStore<0>(sums.of[0], 64);
  TileStore<1>(sums.of[1], 64);
  TileStore<2>(sums.of[2], 64);
  TileStore<3>(sums.of[3], 64);
  const __m512 d = _mm512_load_ps(w.scale[0]);
#pragma GCC unroll 16
  for (std::size_t row = 0; row < kRowTile; ++row) {
    const auto sum = [&](std::size_t tile) { return _mm512_load_si512(sums.of[tile][row]); };
    const __m512i upper = Lanes::AddInt(_mm512_slli_epi32(sum(0), 4), sum(1));
    const __m512i lower = Lanes::AddInt(_mm512_slli_epi32(sum(2), 4), sum(3));
    const __m512i nested = Lanes::AddInt(_mm512_slli_epi32(upper, 8), lower);
    p[row] = Lanes::Mul(Lanes::ToFloat(nested), d);
  }
}

// kGroups groups from `first` on, for the kinds with a scale a group.
template <PanelKind kKind, std::size_t kGroups>
inline __attribute__((always_inline)) void ScaledGroups(
    const RowSegment& x, const Segment& w, std::size_t first, Sums& sums, __m512* p
) {
  if constexpr (kKind == PanelKind::kCode8) {
    Code8Groups<kGroups>(x, w, first, sums, p);
  } else {
    constexpr bool kSigned = kKind == PanelKind::kCode4;
    Code4Groups<kSigned, !kSigned, kGroups>(x, w, first, sums, p);
  }
}

template <PanelKind kKind>
inline __attribute__((always_inline)) void Products(
    const RowSegment& x, const Segment& w, std::size_t groups, Sums& sums, __m512* p
) {
  if constexpr (kKind == PanelKind::kCode6Nested) {
    Code6(x, w, groups, sums, p);
  } else if (groups == kSegmentGroups) {
    ScaledGroups<kKind, kSegmentGroups>(x, w, 0, sums, p);
  } else {
    std::size_t g = 0;
    for (; g + 2 <= groups; g += 2) {
      ScaledGroups<kKind, 2>(x, w, g, sums, p);
    }
    if (g < groups) {
      ScaledGroups<kKind, 1>(x, w, g, sums, p);
    }
  }
}

// What one pass over the rows works on: kMostPassTiles tiles of rows by kPanels panels.
struct Scratch {
  Segment segments[kPanels];
  Sums sums;
  alignas(64) float y[kMostPassTiles][kPanels][kRowTile][kPanelOutputs];
};

// Segment `s` of rows from first_row on, `rows` of them, against the panels in scratch.segments.
template <PanelKind kKind>
void SegmentOfRows(
    const MatmulQuantizedArgs& args,
    std::size_t s,
    std::size_t first_row,
    std::size_t panels,
    Scratch& scratch,
    float (&y)[kPanels][kRowTile][kPanelOutputs]
) {
  const std::size_t groups = args.weights.groups;
  const std::size_t first = s * kSegmentGroups;
  const std::size_t count = groups - first < kSegmentGroups ? groups - first : kSegmentGroups;
  const RowPlace place = PlaceOf(first_row, args.rows.rows);
  const std::size_t at = place.At(first, groups);
  const RowSegment x{args.rows.planes + at * 64, place.rows, args.rows.sum + at};
  const float* factor = args.rows.factor + place.At(s, SegmentCount(groups));
  for (std::size_t panel = 0; panel < panels; ++panel) {
    __m512 p[kRowTile];
#pragma GCC unroll 16
    for (std::size_t row = 0; row < kRowTile; ++row) {
      p[row] = _mm512_setzero_ps();
    }
    Products<kKind>(x, scratch.segments[panel], count, scratch.sums, p);
#pragma GCC unroll 16
    for (std::size_t row = 0; row < kRowTile; ++row) {
      const __m512 before = s == 0 ? _mm512_setzero_ps() : _mm512_load_ps(y[panel][row]);
      _mm512_store_ps(y[panel][row], Lanes::Fma(p[row], Lanes::Set(factor[row]), before));
    }
  }
}

void StoreRows(
    const MatmulQuantizedArgs& args,
    std::size_t first_row,
    std::size_t rows,
    std::size_t panel,
    const float (&y)[kRowTile][kPanelOutputs]
) {
  const std::size_t column = panel * kPanelOutputs;
  for (std::size_t row = 0; row < rows; ++row) {
    Lanes::Store(
        args.out + (first_row + row) * args.out_stride + column,
        _mm512_load_ps(y[row]),
        args.weights.outputs - column,
        args.add
    );
  }
}

// Rows first_row .. last_row - 1, at most kMostPassTiles tiles of them.
template <PanelKind kKind>
void Pass(
    const MatmulQuantizedArgs& args, std::size_t first_row, std::size_t last_row, Scratch& scratch
) {
  const std::size_t groups = args.weights.groups;
  const std::size_t tiles = (last_row - first_row + kRowTile - 1) / kRowTile;
  const std::size_t most = tiles <= kFewTiles ? 1 : kPanels;
  for (std::size_t panel = args.first_panel; panel < args.last_panel; panel += most) {
    const std::size_t rest = args.last_panel - panel;
    const std::size_t panels = rest < most ? rest : most;
    const std::byte* packed[kPanels];
    for (std::size_t i = 0; i < panels; ++i) {
      packed[i] = args.weights.data + (panel + i) * PanelBytes(kKind, groups);
    }
    for (std::size_t s = 0; s < SegmentCount(groups); ++s) {
      const std::size_t left = groups - s * kSegmentGroups;
      for (std::size_t i = 0; i < panels; ++i) {
        packed[i] = Unpack<kKind>(
            packed[i], left < kSegmentGroups ? left : kSegmentGroups, scratch.segments[i]
        );
      }
      for (std::size_t tile = 0; tile < tiles; ++tile) {
        SegmentOfRows<kKind>(
            args, s, first_row + tile * kRowTile, panels, scratch, scratch.y[tile]
        );
      }
    }
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      const std::size_t row = first_row + tile * kRowTile;
      const std::size_t rows = last_row - row < kRowTile ? last_row - row : kRowTile;
      for (std::size_t i = 0; i < panels; ++i) {
        StoreRows(args, row, rows, panel + i, scratch.y[tile][i]);
      }
    }
  }
}

template <PanelKind kKind>
void Passes(const MatmulQuantizedArgs& args, std::size_t last_row) {
  const std::size_t tile_bytes = args.weights.groups * kTileBytes;
  const std::size_t fitting = kPassBytes / tile_bytes;
  const std::size_t tiles = fitting < 2 ? 2 : fitting < kMostPassTiles ? fitting : kMostPassTiles;
  Scratch scratch;
  if constexpr (kKind == PanelKind::kCode8 || kKind == PanelKind::kCode6Nested) {
    for (Segment& segment : scratch.segments) {
      __builtin_memset(segment.tiles, 0, sizeof segment.tiles);
    }
  }
  const TileScope scope;
  for (std::size_t row = args.first_row; row < last_row; row += tiles * kRowTile) {
    const std::size_t end = row + tiles * kRowTile;
    Pass<kKind>(args, row, end < last_row ? end : last_row, scratch);
  }
}

}  // namespace

void MatmulQuantized(const MatmulQuantizedArgs& args) {
  // A last tile of few rows is left to the vectors.
  const std::size_t ragged = (args.last_row - args.first_row) % kRowTile;
  const std::size_t last_row = ragged < kFewestRows ? args.last_row - ragged : args.last_row;
  if (args.first_row < last_row) {
    switch (args.weights.kind) {
      case PanelKind::kCode4:
        Passes<PanelKind::kCode4>(args, last_row);
        break;
      case PanelKind::kCode4Minimum:
        Passes<PanelKind::kCode4Minimum>(args, last_row);
        break;
      case PanelKind::kCode8:
        Passes<PanelKind::kCode8>(args, last_row);
        break;
      case PanelKind::kCode4Nested:
        Passes<PanelKind::kCode4Nested>(args, last_row);
        break;
      case PanelKind::kCode6Nested:
        Passes<PanelKind::kCode6Nested>(args, last_row);
        break;
    }
  }
  if (last_row < args.last_row) {
    MatmulQuantizedArgs rest = args;
    rest.first_row = last_row;
    avx512vnni::MatmulQuantized(rest);
  }
}

}  // namespace hearth::amx
