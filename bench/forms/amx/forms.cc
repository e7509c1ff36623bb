// Forms G and R on tiles: 16 rows by 16 outputs. Form G takes every block's sums out of the tiles to scale them; form R
// leaves them there and pays when it unpacks.
#include "forms/avx512/simd_internal.h"
#include "forms/form_kernels.h"
#include "forms/panel_group_internal.h"
#include "kernels/amx/tile_internal.h"

namespace hearth::forms::amx {
namespace {

using hearth::amx::TileLoad;
using hearth::amx::TileProductBf16;
using hearth::amx::TileProductSigned;
using hearth::amx::TileScope;
using hearth::amx::TileStore;
using hearth::amx::TileZero;
using Simd = Avx512Forms;

constexpr std::size_t kTileValues = 512;  // bfloat16 of a tile of 16 by 32
constexpr std::size_t kPanels = 2;
// One row of form G is left to the vectors, which need not unpack for it.
constexpr std::size_t kFewestRowsG = 3;
constexpr std::size_t kPassBytes = std::size_t{1} << 20;
constexpr std::size_t kMostPassTiles = 32;

// Tiles 0 .. 3 are sums, 4 and 5 rows of kBlock inputs, 6 and 7 weights of as many.
template <std::size_t kBlock>
class BlockTiles {
 public:
  BlockTiles() {
    Config config;
    asm volatile("ldtilecfg %0" : : "m"(config) : "memory");
  }

  ~BlockTiles() { asm volatile("tilerelease" : : : "memory"); }

  BlockTiles(const BlockTiles&) = delete;
  BlockTiles& operator=(const BlockTiles&) = delete;

 private:
  struct alignas(64) Config {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 2 * kBlock, 2 * kBlock, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, kBlock / 2, kBlock / 2};
  };
};

// One segment of one panel: [8 groups][16 pairs of inputs][16 outputs][2] bfloat16, and what form G multiplies by.
struct Segment {
  alignas(64) std::uint16_t weights[kSegmentGroups * kTileValues];
  alignas(64) float scales[2 * kSegmentGroups][kPanelOutputs];
  alignas(64) float minima[kSegmentGroups][kPanelOutputs];
};

// Four nibbles of every lane, from bit kShift of each byte, as two pairs of bfloat16. The table has every value twice,
// since its index takes in one bit more.
template <int kShift, bool kSigned>
inline __attribute__((always_inline)) void StoreNibblePairs(__m512i words, std::uint16_t* pairs) {
  alignas(64) static constexpr std::uint16_t kTable[2][16] = {
      {0x0000,
       0x3f80,
       0x4000,
       0x4040,
       0x4080,
       0x40a0,
       0x40c0,
       0x40e0,
       0x4100,
       0x4110,
       0x4120,
       0x4130,
       0x4140,
       0x4150,
       0x4160,
       0x4170},
      {0xc100,
       0xc0e0,
       0xc0c0,
       0xc0a0,
       0xc080,
       0xc040,
       0xc000,
       0xbf80,
       0x0000,
       0x3f80,
       0x4000,
       0x4040,
       0x4080,
       0x40a0,
       0x40c0,
       0x40e0},
  };
  const __m512i table = _mm512_broadcast_i64x4(
      _mm256_load_si256(reinterpret_cast<const __m256i*>(kTable[kSigned ? 1 : 0]))
  );
  // Bytes 0 and 1 of every lane, then 2 and 3, each as a word; an index with its top bit set gives zero.
  const __m512i first_order = _mm512_set4_epi32(
      static_cast<int>(0x800d800cu),
      static_cast<int>(0x80098008u),
      static_cast<int>(0x80058004u),
      static_cast<int>(0x80018000u)
  );
  const __m512i second_order = _mm512_or_si512(first_order, _mm512_set1_epi32(0x00020002));
  const __m512i first = _mm512_shuffle_epi8(words, first_order);
  const __m512i second = _mm512_shuffle_epi8(words, second_order);
  _mm512_store_si512(pairs, _mm512_permutexvar_epi16(_mm512_srli_epi16(first, kShift), table));
  _mm512_store_si512(
      pairs + 32, _mm512_permutexvar_epi16(_mm512_srli_epi16(second, kShift), table)
  );
}

// Two vectors of float32 as pairs of bfloat16, rounded to nearest even.
inline __attribute__((always_inline)) __m512i RoundPair(__m512 even, __m512 odd) {
  const __m512i order = _mm512_set_epi32(
      0x001f000f,
      0x001e000e,
      0x001d000d,
      0x001c000c,
      0x001b000b,
      0x001a000a,
      0x00190009,
      0x00180008,
      0x00170007,
      0x00160006,
      0x00150005,
      0x00140004,
      0x00130003,
      0x00120002,
      0x00110001,
      0x00100000
  );
  return _mm512_permutexvar_epi16(order, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even)));
}

// Pairs that are bfloat16 already.
inline __attribute__((always_inline)) __m512i ExactPair(__m512 even, __m512 odd) {
  return _mm512_or_si512(
      _mm512_srli_epi32(_mm512_castps_si512(even), 16), _mm512_castps_si512(odd)
  );
}

template <Form kForm, PanelKind kKind>
void UnpackGroup(const GroupPlace& place, std::size_t g, Segment& segment) {
  constexpr bool kNibbles = kKind != PanelKind::kCode8 && kKind != PanelKind::kCode6Nested;
  const PanelGroup<Simd, kKind> group(place.header, place.group, 0);
  std::uint16_t* weights = segment.weights + g * kTileValues;
  if constexpr (kForm == Form::kG && kNibbles) {
    ForEach<4>([&]<std::size_t kQuad>() __attribute__((always_inline)) {
      constexpr bool kSigned = kKind == PanelKind::kCode4;
      StoreNibblePairs<0, kSigned>(group.words(kQuad), weights + kQuad * 64);
      StoreNibblePairs<4, kSigned>(group.words(kQuad), weights + 256 + kQuad * 64);
    });
  } else {
    ForEach<16>([&]<std::size_t kPair>() __attribute__((always_inline)) {
      __m512i pair;
      if constexpr (kForm == Form::kG) {
        pair = ExactPair(group.template Code<2 * kPair>(), group.template Code<2 * kPair + 1>());
      } else {
        pair =
            RoundPair(group.template Weight<2 * kPair>(), group.template Weight<2 * kPair + 1>());
      }
      _mm512_store_si512(weights + kPair * 32, pair);
    });
  }
  if constexpr (kForm == Form::kG) {
    constexpr std::size_t kScales = 32 / ScaleInputs(kKind);
    for (std::size_t i = 0; i < kScales; ++i) {
      _mm512_store_ps(segment.scales[g * kScales + i], group.scale(i));
    }
    if constexpr (HasMinima(kKind)) {
      _mm512_store_ps(segment.minima[g], group.minimum());
    }
  }
}

using Sums = float[kRowTile][kPanelOutputs];

// What one pass over the rows works on: y is [row tile][panel].
struct Scratch {
  Segment segments[kPanels];
  alignas(64) Sums blocks[4];
  alignas(64) Sums y[kMostPassTiles][kPanels];
};

// A segment of form G: one tile of rows, one panel.
template <PanelKind kKind>
class ScaledBlocks {
  static constexpr std::size_t kBlock = ScaleInputs(kKind);
  static constexpr std::size_t kBlocks = kSegmentGroups * 32 / kBlock;
  static constexpr std::size_t kInGroup = 32 / kBlock;

 public:
  // The sums of a block leave their tile two blocks after they went in, so that products, stores and FMAs overlap.
  static void Run(
      const std::uint16_t* rows, const float* sums, const Segment& segment, Sums* blocks, Sums& y
  ) {
    __m512 total[kRowTile];
#pragma GCC unroll 16
    for (std::size_t row = 0; row < kRowTile; ++row) {
      total[row] = _mm512_load_ps(y[row]);
    }
    Multiply<0>(rows, segment, 0);
    Multiply<1>(rows, segment, 1);
    for (std::size_t block = 0; block < kBlocks; block += 4) {
      Multiply<2>(rows, segment, block + 2);
      TileStore<0>(blocks[0], 64);
      Multiply<3>(rows, segment, block + 3);
      TileStore<1>(blocks[1], 64);
      Scale(blocks[0], sums, segment, block, total);
      if (block + 4 < kBlocks) {
        Multiply<0>(rows, segment, block + 4);
      }
      TileStore<2>(blocks[2], 64);
      Scale(blocks[1], sums, segment, block + 1, total);
      if (block + 5 < kBlocks) {
        Multiply<1>(rows, segment, block + 5);
      }
      TileStore<3>(blocks[3], 64);
      Scale(blocks[2], sums, segment, block + 2, total);
      Scale(blocks[3], sums, segment, block + 3, total);
    }
#pragma GCC unroll 16
    for (std::size_t row = 0; row < kRowTile; ++row) {
      _mm512_store_ps(y[row], total[row]);
    }
  }

 private:
  template <int kSum>
  static inline __attribute__((always_inline)) void Multiply(
      const std::uint16_t* rows, const Segment& segment, std::size_t block
  ) {
    constexpr int kRows = 4 + kSum % 2;
    constexpr int kWeights = 6 + kSum % 2;
    const std::size_t part = block % kInGroup;
    TileZero<kSum>();
    TileLoad<kRows>(rows + block / kInGroup * kTileValues + part * kBlock, 64);
    TileLoad<kWeights>(segment.weights + block * kBlock * kPanelOutputs, 64);
    TileProductBf16<kSum, kRows, kWeights>();
  }

  static inline __attribute__((always_inline)) void Scale(
      const Sums& block_sums,
      const float* sums,
      const Segment& segment,
      std::size_t block,
      __m512* total
  ) {
    const __m512 scale = _mm512_load_ps(segment.scales[block]);
#pragma GCC unroll 16
    for (std::size_t row = 0; row < kRowTile; ++row) {
      total[row] = Simd::Fma(_mm512_load_ps(block_sums[row]), scale, total[row]);
    }
    if constexpr (HasMinima(kKind)) {
      const __m512 minimum = _mm512_load_ps(segment.minima[block]);
#pragma GCC unroll 16
      for (std::size_t row = 0; row < kRowTile; ++row) {
        total[row] = Simd::Fma(Simd::Set(sums[block * kRowTile + row]), minimum, total[row]);
      }
    }
  }
};

// A segment of form R: kTiles tiles of rows (`next_tile` values apart), two panels.
template <std::size_t kTiles>
void AddRoundedBlocks(
    const std::uint16_t* rows, std::size_t next_tile, const Segment* segments, Sums (*y)[kPanels]
) {
  TileLoad<0>(y[0][0], 64);
  TileLoad<1>(y[0][1], 64);
  if constexpr (kTiles == 2) {
    TileLoad<2>(y[1][0], 64);
    TileLoad<3>(y[1][1], 64);
  }
  for (std::size_t g = 0; g < kSegmentGroups; ++g) {
    TileLoad<4>(rows + g * kTileValues, 64);
    TileLoad<6>(segments[0].weights + g * kTileValues, 64);
    TileProductBf16<0, 4, 6>();
    TileLoad<7>(segments[1].weights + g * kTileValues, 64);
    TileProductBf16<1, 4, 7>();
    if constexpr (kTiles == 2) {
      TileLoad<5>(rows + next_tile + g * kTileValues, 64);
      TileProductBf16<2, 5, 6>();
      TileProductBf16<3, 5, 7>();
    }
  }
  TileStore<0>(y[0][0], 64);
  TileStore<1>(y[0][1], 64);
  if constexpr (kTiles == 2) {
    TileStore<2>(y[1][0], 64);
    TileStore<3>(y[1][1], 64);
  }
}

// Row tiles first_tile .. first_tile + tiles - 1.
template <Form kForm, PanelKind kKind>
void Pass(const FormArgs& args, std::size_t first_tile, std::size_t tiles, Scratch& scratch) {
  const FormRows& x = args.rows;
  const std::size_t next_tile = x.groups * kTileValues;
  for (std::size_t panel = args.first_panel; panel < args.last_panel; panel += kPanels) {
    __builtin_memset(scratch.y, 0, tiles * sizeof scratch.y[0]);
    for (std::size_t first = 0; first < x.groups; first += kSegmentGroups) {
      for (std::size_t i = 0; i < kPanels; ++i) {
        const std::byte* packed = args.weights.data + (panel + i) * PanelBytes(kKind, x.groups);
        for (std::size_t g = 0; g < kSegmentGroups; ++g) {
          const GroupPlace place = PlaceOfGroup<kKind>(packed, first + g);
          PrefetchBehind<kKind>(place.group);
          UnpackGroup<kForm, kKind>(place, g, scratch.segments[i]);
        }
      }
      const std::uint16_t* rows = x.tiles + (first_tile * x.groups + first) * kTileValues;
      if constexpr (kForm == Form::kG) {
        const float* sums = x.sums + (first_tile * x.groups + first) * kRowTile;
        for (std::size_t tile = 0; tile < tiles; ++tile) {
          for (std::size_t i = 0; i < kPanels; ++i) {
            ScaledBlocks<kKind>::Run(
                rows + tile * next_tile,
                sums + tile * x.groups * kRowTile,
                scratch.segments[i],
                scratch.blocks,
                scratch.y[tile][i]
            );
          }
        }
      } else {
        std::size_t tile = 0;
        for (; tile + 2 <= tiles; tile += 2) {
          AddRoundedBlocks<2>(
              rows + tile * next_tile, next_tile, scratch.segments, scratch.y + tile
          );
        }
        if (tile < tiles) {
          AddRoundedBlocks<1>(
              rows + tile * next_tile, next_tile, scratch.segments, scratch.y + tile
          );
        }
      }
    }
    for (std::size_t row = first_tile * kRowTile;
         row < (first_tile + tiles) * kRowTile && row < x.rows;
         ++row) {
      for (std::size_t i = 0; i < kPanels; ++i) {
        const Sums& y = scratch.y[row / kRowTile - first_tile][i];
        Simd::StoreFloats(
            args.out + row * args.out_stride + (panel + i) * kPanelOutputs,
            _mm512_load_ps(y[row % kRowTile])
        );
      }
    }
  }
}

template <Form kForm>
void Passes(const FormArgs& args) {
  ForKind(args.weights.kind, [&]<PanelKind kKind>() {
    const std::size_t fitting = kPassBytes / (args.rows.groups * kTileValues * 2);
    const std::size_t most = fitting < 2 ? 2 : fitting < kMostPassTiles ? fitting : kMostPassTiles;
    const std::size_t tiles = (args.rows.rows + kRowTile - 1) / kRowTile;
    Scratch scratch;
    const BlockTiles<BlockInputs(kForm, kKind)> scope;
    for (std::size_t tile = 0; tile < tiles; tile += most) {
      Pass<kForm, kKind>(args, tile, tiles - tile < most ? tiles - tile : most, scratch);
    }
  });
}

}  // namespace

void FormG(const FormArgs& args) {
  if (args.rows.rows < kFewestRowsG) {
    return avx512::FormG(args);
  }
  Passes<Form::kG>(args);
}

void FormR(const FormArgs& args) {
  Passes<Form::kR>(args);
}

void ProbeByteProducts(std::size_t count) {
  const TileScope scope;
  for (std::size_t i = 0; i < count; ++i) {
    TileProductSigned<0, 4, 6>();
    TileProductSigned<1, 4, 7>();
    TileProductSigned<2, 5, 6>();
    TileProductSigned<3, 5, 7>();
  }
}

void ProbeBfloat16Products(std::size_t count) {
  const TileScope scope;
  for (std::size_t i = 0; i < count; ++i) {
    TileProductBf16<0, 4, 6>();
    TileProductBf16<1, 4, 7>();
    TileProductBf16<2, 5, 6>();
    TileProductBf16<3, 5, 7>();
  }
}

}  // namespace hearth::forms::amx
