// Quantized products on tiles: 16 rows by 16 outputs, a group of 32 inputs at a time. A row of the activations' tile is
// the 32 high bytes and the 32 low ones of a group; against 16 * code and code in the weights' tile one product gives the
// group's sum at once. Codes wider than 4 bits have no room for that and take a product a plane.
#include "kernels/matmul_quantized.h"

#include "kernels/amx/code4_pipeline_internal.h"
#include "kernels/amx/store_rows_internal.h"
#include "kernels/amx/tile_internal.h"
#include "kernels/amx/unpack_internal.h"

namespace hearth::amx {
namespace {

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

template <PanelKind kKind>
constexpr bool kIsCode4 = kKind != PanelKind::kCode8 && kKind != PanelKind::kCode6Nested;

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

// Unpacks `groups` groups of a segment; returns where the next segment starts.
template <PanelKind kKind>
const std::byte* Unpack(const std::byte* packed, std::size_t groups, Segment& segment) {
  const std::byte* header = packed;
  packed += HeaderBytes(kKind);
  if constexpr (kKind == PanelKind::kCode6Nested) {
    _mm512_store_ps(segment.scale[0], Lanes::Halves(header));
  }
  for (std::size_t g = 0; g < groups; ++g, packed += GroupBytes(kKind)) {
    PrefetchNextSegment<kKind>(packed);
    if constexpr (kIsCode4<kKind>) {
      UnpackCode4<kKind>(
          header, packed, segment.tiles + g * kTileBytes, segment.scale[g], segment.minimum[g]
      );
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

// All rows, kMostPassTiles tiles or fewer at a time.
template <class Pass>
void ForPasses(const MatmulQuantizedArgs& args, std::size_t last_row, const Pass& pass) {
  const std::size_t fitting = kPassBytes / (args.weights.groups * kTileBytes);
  const std::size_t tiles = fitting < 2 ? 2 : fitting < kMostPassTiles ? fitting : kMostPassTiles;
  const TileScope scope;
  for (std::size_t row = args.first_row; row < last_row; row += tiles * kRowTile) {
    const std::size_t end = row + tiles * kRowTile;
    pass(row, end < last_row ? end : last_row);
  }
}

// Each of the two ways has its own frame, as both are large.
template <PanelKind kKind>
[[gnu::noinline]] void Pipeline(const MatmulQuantizedArgs& args, std::size_t last_row) {
  Code4Pipeline<kKind> pipeline(args);
  static_assert(pipeline.kMostTiles == kMostPassTiles);
  ForPasses(args, last_row, [&](std::size_t row, std::size_t end) { pipeline.Run(row, end); });
}

template <PanelKind kKind>
[[gnu::noinline]] void Segments(const MatmulQuantizedArgs& args, std::size_t last_row) {
  Scratch scratch;
  if constexpr (!kIsCode4<kKind>) {
    for (Segment& segment : scratch.segments) {
      __builtin_memset(segment.tiles, 0, sizeof segment.tiles);
    }
  }
  ForPasses(args, last_row, [&](std::size_t row, std::size_t end) {
    Pass<kKind>(args, row, end, scratch);
  });
}

template <PanelKind kKind>
void Passes(const MatmulQuantizedArgs& args, std::size_t last_row) {
  if constexpr (kIsCode4<kKind>) {
    if (Code4Pipeline<kKind>::Gains(args, last_row)) {
      Pipeline<kKind>(args, last_row);
      return;
    }
  }
  Segments<kKind>(args, last_row);
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
