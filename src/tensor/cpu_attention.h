// The attention step of the CPU backend: how rotation, the cache and the queries of a batch are split over the team.
// Knows pages and kernels, not weights.
#pragma once

#include <vector>

#include "kernels/kernels.h"
#include "platform/aligned_buffer.h"
#include "platform/worker_team.h"
#include "tensor/backend.h"

namespace hearth {

// The split never shows: a segment's result does not depend on who computes it, and segments are joined in order.
// Ownership: borrows the team; owns scratch that grows with the largest batch and the longest sequence.
// Threads:   one caller at a time.
class CpuAttention {
 public:
  CpuAttention(const Kernels& kernels, WorkerTeam& team);

  // Of a team of `members`; as Backend::ScratchCost.
  static ForwardCost ScratchCost(const ScratchShape& shape, std::size_t members);

  // As Backend::Attend. Errors: std::bad_alloc.
  void Run(const AttentionBatch& batch);

 private:
  // Queries of one sequence that share a key head, all heads of it at neighbouring positions.
  struct Tile {
    std::size_t row;  // first row of the sequence
    std::size_t kv_head;
    std::size_t
        first_query;  // counted over rows * (heads of a key head), from the batch's first row
    std::size_t queries;
    std::size_t segments;  // that the last query sees
    std::size_t pages;     // likewise
  };

  // Some segments of one tile, for one member of the team.
  struct Item {
    std::size_t tile;
    std::size_t first_segment;
    std::size_t last_segment;  // one past the end
    float* parts;  // of a split tile: [queries][segments of the tile]; null for a whole one
  };

  struct Scratch {
    std::vector<const std::byte*> pages;
    AlignedBuffer<float> parts;
  };

  void RotateAndStore(const AttentionBatch& batch);
  void FindTiles(const AttentionBatch& batch);
  void FindItems(const AttentionBatch& batch);
  void RunItem(const AttentionBatch& batch, const Item& item, Scratch& scratch) const;
  void Join(const AttentionBatch& batch, const Tile& tile, std::size_t query, float* parts) const;

  const Kernels kernels_;
  WorkerTeam& team_;
  std::vector<Scratch> scratch_;  // [members]
  AlignedBuffer<std::byte>
      queries_;                 // [kv_heads][rows][heads of a key head][padded_dim] of the storage
  AlignedBuffer<float> parts_;  // of split tiles
  std::vector<Tile> tiles_;
  std::vector<Item> items_;
};

}  // namespace hearth
