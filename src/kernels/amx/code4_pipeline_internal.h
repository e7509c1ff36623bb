// Products of the 4-bit kinds as one long pipeline over tiles of rows, segments and panels.
// Threads: one a pipeline. Errors: none. Cost: no allocation, about 100 KB of stack.
//
// A block is one tile of rows against one segment of one panel: eight tile products and the scaling of their sums. The
// products of a block run beside the scaling of the block before, one of each a step, so that tiles and vectors never
// wait for each other, at the end of a segment neither. A last segment of fewer groups makes a block of fewer steps; those
// of its neighbours that have no partner run alone. In the last block that multiplies a group's tile, the group that
// comes next is unpacked over it right behind its product, so it is written long before it is read. All that a step
// touches fits the first-level cache beside the activations; what spills over it costs more than overlap gains
// (measured: with two buffers to unpack into, 16 rows took 52 ns a product instead of 30).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/amx/store_rows_internal.h"
#include "kernels/amx/tile_internal.h"
#include "kernels/amx/unpack_internal.h"
#include "kernels/matmul_quantized.h"

namespace hearth::amx {
namespace {

template <PanelKind kKind>
class Code4Pipeline {
 public:
  static constexpr std::size_t kMostTiles = 32;

  explicit Code4Pipeline(const MatmulQuantizedArgs& args) : args_(args) {}

  // Whether it has work, and is ahead of products without it on rows args.first_row .. last_row - 1. Two tiles of rows do
  // not gain where the last segment has few groups (measured: 576 inputs, 32 rows: 31 ns a product instead of 29; with
  // minima 38 both ways).
  static bool Gains(const MatmulQuantizedArgs& args, std::size_t last_row) {
    const std::size_t rest = args.weights.groups % kSteps;
    const std::size_t rows = last_row - args.first_row;
    const bool two_tiles = rows > kRowTile && rows <= 2 * kRowTile;
    return args.first_panel < args.last_panel && (rest == 0 || rest > kSteps / 2 || !two_tiles);
  }

  // Rows first_row .. last_row - 1, at most kMostTiles tiles of them. Needs a TileScope.
  void Run(std::size_t first_row, std::size_t last_row) {
    const std::size_t tiles = (last_row - first_row + kRowTile - 1) / kRowTile;
    last_row_ = last_row;
    prefetches_ = tiles >= kFarTiles;
    PlaceRoom(args_.rows.planes + first_row * args_.weights.groups * 64);
    // Panels that share the activations of a segment. One tile of rows takes them in turn through one buffer, unless
    // short segments would follow each other (measured: 576 inputs 33 ns a product, 31 with a panel at a time).
    const bool in_turn = tiles == 1;
    const std::size_t most = in_turn ? (HasShort() ? 1 : kPanelsInTurn) : tiles == 2 ? 1 : kBuffers;
    const std::size_t segments = SegmentCount(args_.weights.groups);
    for (std::size_t i = 0; i < (in_turn ? 1 : most); ++i) {
      if (args_.first_panel + i < args_.last_panel) {
        Fill(args_.first_panel + i, weights_[i]);
      }
    }
    before_ = Block{};
    for (std::size_t panel = args_.first_panel; panel < args_.last_panel; panel += most) {
      const std::size_t rest = args_.last_panel - panel;
      const std::size_t panels = rest < most ? rest : most;
      for (std::size_t s = 0; s < segments; ++s) {
        for (std::size_t tile = 0; tile < tiles; ++tile) {
          for (std::size_t i = 0; i < panels; ++i) {
            Weights& weights = weights_[in_turn ? 0 : i];
            Block block = BlockOf(first_row + tile * kRowTile, s, panel + i, weights);
            block.y = y_[tile * most + i];
            // The segment that the weights hold after this block; past the last panel when that stays the same.
            std::size_t next_panel = args_.last_panel;
            std::size_t next_s = 0;
            if (in_turn && i + 1 < panels) {
              next_panel = panel + i + 1;
              next_s = s;
            } else if (tile + 1 == tiles) {
              next_panel = in_turn ? panel : panel + i;
              next_s = s + 1;
              if (next_s == segments) {
                next_panel += panels;
                next_s = 0;
              }
            }
            Start(block, next_panel, next_s, weights);
          }
        }
      }
    }
    Advance(Block{}, Incoming{});
  }

 private:
  static constexpr bool kSigned = kKind == PanelKind::kCode4;
  static constexpr bool kMinima = !kSigned;
  static constexpr std::size_t kBuffers = 2;
  static constexpr std::size_t kPanelsInTurn = 4;
  // Outputs of this many tiles of rows are prefetched; those of fewer are near, and 1 % is lost.
  static constexpr std::size_t kFarTiles = 8;
  static constexpr std::size_t kSteps = kSegmentGroups;
  // A product's tile is stored this many steps after its start. Four tiles hold sums, so it is below four.
  static constexpr std::size_t kStoreSteps = 2;
  static constexpr std::size_t kAlias = 4096;

  struct Scales {
    alignas(64) float scale[kSteps][kPanelOutputs];
    alignas(64) float minimum[kSteps][kPanelOutputs];
  };

  // The tiles of one segment of one panel, and the scales of three: being scaled, multiplied and unpacked.
  struct Weights {
    std::byte* tiles;
    Scales scales[3];
    std::size_t turn;  // of the segment in `tiles`
  };

  struct Block {
    const std::int8_t* planes;  // [groups][rows][64]
    const float* sum;           // [groups][rows]
    const float* factor;        // [rows]
    std::size_t rows;           // in the tile; the tile products read 16
    std::size_t groups;         // in the segment; 0 in no block
    std::byte* tiles;
    const Scales* scales;
    float (*y)[kPanelOutputs];
    std::size_t first_row;
    std::size_t panel;
    bool first_segment;
    bool last_segment;
  };

  // The segment that is unpacked behind the products of a block.
  struct Incoming {
    const std::byte* packed;
    std::size_t groups;  // 0 for none
    Scales* scales;
  };

  struct Room {
    std::byte tiles[kBuffers][kSteps * kTileBytes];
    std::int32_t sums[kSteps][kRowTile][kPanelOutputs];
  };

  // A load that lies a multiple of 4096 bytes from a store on its way is held up as if it read what is stored. So the
  // room is laid out with respect to the activations: tile loads and stores of a step start at multiples of 1024 from
  // each other (measured: 2 to 4 % beside a room anywhere).
  void PlaceRoom(const std::int8_t* planes) {
    const std::size_t offset =
        (reinterpret_cast<std::uintptr_t>(planes) + kAlias / 2) % kAlias / 64 * 64;
    room_ = reinterpret_cast<Room*>(storage_ + offset);
    for (std::size_t i = 0; i < kBuffers; ++i) {
      weights_[i].tiles = room_->tiles[i];
    }
  }

  // Whether the last segment has fewer groups than the others.
  bool HasShort() const { return args_.weights.groups % kSteps != 0; }

  std::size_t Groups(std::size_t s) const {
    const std::size_t rest = args_.weights.groups - s * kSteps;
    return rest < kSteps ? rest : kSteps;
  }

  const std::byte* Packed(std::size_t panel, std::size_t s) const {
    return args_.weights.data + panel * PanelBytes(kKind, args_.weights.groups) +
           s * (HeaderBytes(kKind) + kSteps * GroupBytes(kKind));
  }

  // Group g of the segment that starts at `segment`.
  static inline __attribute__((always_inline)) void UnpackGroup(
      const std::byte* segment, std::size_t g, std::byte* tiles, Scales& scales
  ) {
    const std::byte* packed = segment + HeaderBytes(kKind) + g * GroupBytes(kKind);
    PrefetchNextSegment<kKind>(packed);
    UnpackCode4<kKind>(segment, packed, tiles + g * kTileBytes, scales.scale[g], scales.minimum[g]);
  }

  // The first segment of a panel, before there are products to unpack behind.
  void Fill(std::size_t panel, Weights& weights) {
    weights.turn = 0;
    for (std::size_t g = 0; g < Groups(0); ++g) {
      UnpackGroup(Packed(panel, 0), g, weights.tiles, weights.scales[0]);
    }
  }

  Block BlockOf(std::size_t first_row, std::size_t s, std::size_t panel, Weights& weights) const {
    const std::size_t groups = args_.weights.groups;
    const RowPlace place = PlaceOf(first_row, args_.rows.rows);
    const std::size_t at = place.At(s * kSteps, groups);
    Block block;
    block.planes = args_.rows.planes + at * 64;
    block.sum = args_.rows.sum + at;
    block.factor = args_.rows.factor + place.At(s, SegmentCount(groups));
    block.rows = place.rows;
    block.groups = Groups(s);
    block.tiles = weights.tiles;
    block.scales = &weights.scales[weights.turn];
    block.first_row = first_row;
    block.panel = panel;
    block.first_segment = s == 0;
    block.last_segment = s + 1 == SegmentCount(groups);
    return block;
  }

  // Starts a block, and leaves segment next_s of next_panel in the weights if there is one.
  void Start(const Block& block, std::size_t next_panel, std::size_t next_s, Weights& weights) {
    Incoming incoming{};
    if (next_panel < args_.last_panel) {
      weights.turn = (weights.turn + 1) % 3;
      incoming = {Packed(next_panel, next_s), Groups(next_s), &weights.scales[weights.turn]};
    }
    if (block.last_segment && prefetches_) {
      PrefetchRows(args_, block.first_row, RowsFrom(block.first_row), block.panel);
    }
    Advance(block, incoming);
  }

  // Rows of the tile that starts at first_row.
  std::size_t RowsFrom(std::size_t first_row) const {
    const std::size_t rest = last_row_ - first_row;
    return rest < kRowTile ? rest : kRowTile;
  }

  // The products of `block` beside the scaling of the one before, which is written out if that ends its outputs.
  void Advance(const Block& block, const Incoming& incoming) {
    const bool whole = block.groups == kSteps && before_.groups == kSteps;
    if (whole && incoming.groups == kSteps) {
      Steps<true, true>(block, incoming, before_, *room_);
    } else if (whole && incoming.groups == 0) {
      Steps<true, false>(block, incoming, before_, *room_);
    } else {
      Steps<false, false>(block, incoming, before_, *room_);
    }
    if (before_.last_segment) {
      StoreRows(args_, before_.first_row, RowsFrom(before_.first_row), before_.panel, before_.y);
    }
    before_ = block;
  }

  template <int kSum, int kA, int kB>
  static inline __attribute__((always_inline)) void Product(
      const std::int8_t* planes, const std::byte* tile
  ) {
    TileLoad<kA>(planes, 64);
    TileLoad<kB>(tile, 64);
    TileZero<kSum>();
    if constexpr (kSigned) {
      TileProductSigned<kSum, kA, kB>();
    } else {
      TileProductUnsigned<kSum, kA, kB>();
    }
  }

  // p += group g of a block.
  static inline __attribute__((always_inline)) void Scale(
      const Block& block, const Room& room, std::size_t g, __m512* p
  ) {
    const __m512 scale = _mm512_load_ps(block.scales->scale[g]);
    const __m512 minimum = kMinima ? _mm512_load_ps(block.scales->minimum[g]) : scale;
    const float* sum = block.sum + g * block.rows;
#pragma GCC unroll 16
    for (std::size_t row = 0; row < kRowTile; ++row) {
      p[row] = Lanes::Fma(Lanes::ToFloat(_mm512_load_si512(room.sums[g][row])), scale, p[row]);
      if constexpr (kMinima) {
        p[row] = Lanes::Fma(Lanes::Set(sum[row]), minimum, p[row]);
      }
    }
  }

  // Step g: product g of `block`, the store of the product two steps before it, group g of the block before; of each
  // what there is. kWhole promises that both blocks are of whole segments; kUnpack then says whether one is unpacked.
  template <bool kWhole, bool kUnpack, std::size_t g>
  static inline __attribute__((always_inline)) void Step(
      const Block& block, const Incoming& incoming, const Block& before, Room& room, __m512* p
  ) {
    if (kWhole || g < block.groups) {
      constexpr int kSum = g % 4;
      constexpr int kA = g % 2 == 0 ? 4 : 6;
      Product<kSum, kA, kA + 1>(block.planes + g * block.rows * 64, block.tiles + g * kTileBytes);
    }
    if (kWhole ? kUnpack : g < incoming.groups) {
      UnpackGroup(incoming.packed, g, block.tiles, *incoming.scales);
    }
    constexpr std::size_t kStored = (g + kSteps - kStoreSteps) % kSteps;
    if (kWhole || kStored < (g < kStoreSteps ? before : block).groups) {
      TileStore<kStored % 4>(room.sums[kStored], 64);
    }
    if (kWhole || g < before.groups) {
      Scale(before, room, g, p);
    }
  }

  // The steps of a block beside those of the block before. Everything is taken by value, so that addresses stay in
  // registers: the asm of the tiles makes the compiler read memory again.
  template <bool kWhole, bool kUnpack>
  [[gnu::noinline]] static void Steps(
      const Block& of_block, const Incoming& of_incoming, const Block& of_before, Room& room
  ) {
    const Block block = of_block;
    const Incoming incoming = of_incoming;
    const Block before = of_before;
    __m512 p[kRowTile];
#pragma GCC unroll 16
    for (std::size_t row = 0; row < kRowTile; ++row) {
      p[row] = _mm512_setzero_ps();
    }
    static_assert(kSteps == 8);
    Step<kWhole, kUnpack, 0>(block, incoming, before, room, p);
    Step<kWhole, kUnpack, 1>(block, incoming, before, room, p);
    Step<kWhole, kUnpack, 2>(block, incoming, before, room, p);
    Step<kWhole, kUnpack, 3>(block, incoming, before, room, p);
    Step<kWhole, kUnpack, 4>(block, incoming, before, room, p);
    Step<kWhole, kUnpack, 5>(block, incoming, before, room, p);
    Step<kWhole, kUnpack, 6>(block, incoming, before, room, p);
    Step<kWhole, kUnpack, 7>(block, incoming, before, room, p);
    if (kWhole || before.groups > 0) {
#pragma GCC unroll 16
      for (std::size_t row = 0; row < kRowTile; ++row) {
        float* y = before.y[row];
        const __m512 sum = before.first_segment ? _mm512_setzero_ps() : _mm512_load_ps(y);
        _mm512_store_ps(y, Lanes::Fma(p[row], Lanes::Set(before.factor[row]), sum));
      }
    }
  }

  const MatmulQuantizedArgs& args_;
  std::size_t last_row_;
  bool prefetches_;  // outputs
  Block before_;
  Weights weights_[kBuffers];
  Room* room_;
  alignas(kAlias) std::byte storage_[sizeof(Room) + kAlias];
  alignas(64) float y_[kMostTiles * kBuffers][kRowTile][kPanelOutputs];
};

}  // namespace
}  // namespace hearth::amx
