#include "tensor/cpu_attention.h"

#include <algorithm>

namespace hearth {
namespace {

// Below this many values the hop to another thread costs more than it saves.
constexpr std::size_t kInlineValues = 4096;

// Likewise for pages times queries.
constexpr std::size_t kInlinePageQueries = 16;

std::size_t Group(const AttentionBatch& batch) {
  return batch.heads / batch.kv_heads;
}

std::size_t RowOf(const AttentionBatch& batch, std::size_t query) {
  return query / Group(batch);
}

}  // namespace

CpuAttention::CpuAttention(const Kernels& kernels, WorkerTeam& team)
    : kernels_(kernels), team_(team), scratch_(static_cast<std::size_t>(team.members())) {
}

ForwardCost CpuAttention::ScratchCost(const ScratchShape& shape, std::size_t members) {
  const std::size_t padded = PaddedHeadDim(shape.head_dim);
  const std::size_t segments = shape.context_length / kSegmentTokens + 1;
  const std::size_t tile_parts =
      kMostTileQueries * segments * AttentionPartFloats(padded) * sizeof(float);
  // Each member has parts of one tile. A tile is split when it holds more than 1 / (2 members) of all pages, so fewer than
  // 2 members tiles are.
  const std::size_t split = members > 1 ? 2 * members : 0;
  // Each token of a row may need tiles of its own in each key head. A vector that grows holds the old and twice as much at
  // once.
  const std::size_t group = shape.heads / shape.kv_heads;
  const std::size_t token_tiles =
      shape.kv_heads * ((group + kMostTileQueries - 1) / kMostTileQueries);
  constexpr std::size_t kGrowth = 3;
  ForwardCost cost;
  cost.fixed_bytes = (members + split) * tile_parts + kGrowth * split * segments * sizeof(Item) +
                     members * (kGrowth * kSegmentPages * sizeof(std::byte*) + sizeof(Scratch)) +
                     (2 * members + 4) * kAllocationSlack;
  cost.token_bytes = shape.heads * padded * KvBytes(shape.storage) +
                     kGrowth * token_tiles * (sizeof(Tile) + sizeof(Item));
  return cost;
}

void CpuAttention::RotateAndStore(const AttentionBatch& batch) {
  const std::size_t dims = batch.head_dim;
  const std::size_t padded = PaddedHeadDim(dims);
  const std::size_t row_bytes = padded * KvBytes(batch.storage);
  const std::size_t head_bytes = HeadPageValues(padded) * KvBytes(batch.storage);
  const std::size_t group = Group(batch);
  const std::size_t count = batch.rows.size();
  queries_.Reserve(count * batch.heads * row_bytes);
  const auto convert = [&](const float* x, std::size_t row, std::size_t pairs, std::byte* out) {
    const float* cosine = batch.cosine + row * batch.rotary_pairs;
    const float* sine = batch.sine + row * batch.rotary_pairs;
    kernels_.rotate_head({x, cosine, sine, pairs, dims, padded, batch.storage, out});
  };
  const std::size_t width = (batch.heads + 2 * batch.kv_heads) * dims;
  const std::size_t grain = std::max<std::size_t>(1, kInlineValues / width);
  team_.ForRanges(count, grain, [&](std::size_t begin, std::size_t end, int) {
    alignas(64) std::byte key[kMostPaddedHeadDim * KvBytes(KvStorage::kF32)];
    alignas(64) std::byte value[kMostPaddedHeadDim * KvBytes(KvStorage::kF32)];
    for (std::size_t row = begin; row < end; ++row) {
      const AttentionRow& place = batch.rows[row];
      for (std::size_t head = 0; head < batch.heads; ++head) {
        const std::size_t to = (head / group * count + row) * group + head % group;
        const float* q = batch.q + (row * batch.heads + head) * dims;
        convert(q, row, batch.rotary_pairs, queries_.data() + to * row_bytes);
      }
      for (std::size_t head = 0; head < batch.kv_heads; ++head) {
        const std::size_t at = (row * batch.kv_heads + head) * dims;
        convert(batch.k + at, row, batch.rotary_pairs, key);
        convert(batch.v + at, row, 0, value);
        std::byte* page = place.pages[place.position / kPageTokens] + head * head_bytes;
        StoreKv({page, batch.storage, padded, place.position % kPageTokens, key, value});
      }
    }
  });
}

void CpuAttention::FindTiles(const AttentionBatch& batch) {
  const std::size_t group = Group(batch);
  tiles_.clear();
  for (std::size_t row = 0; row < batch.rows.size();) {
    std::size_t end = row + 1;
    while (end < batch.rows.size() && batch.rows[end].pages == batch.rows[row].pages) {
      ++end;
    }
    for (std::size_t kv_head = 0; kv_head < batch.kv_heads; ++kv_head) {
      for (std::size_t first = row * group; first < end * group; first += kMostTileQueries) {
        const std::size_t queries = std::min(kMostTileQueries, end * group - first);
        const std::size_t last = batch.rows[RowOf(batch, first + queries - 1)].position;
        tiles_.push_back({
            row,
            kv_head,
            first,
            queries,
            last / kSegmentTokens + 1,
            last / kPageTokens + 1,
        });
      }
    }
    row = end;
  }
}

// A tile is one item, unless its pages are so many that members would wait for the one that has it.
void CpuAttention::FindItems(const AttentionBatch& batch) {
  const auto members = static_cast<std::size_t>(team_.members());
  std::size_t pages = 0;
  for (const Tile& tile : tiles_) {
    pages += tile.pages;
  }
  const auto is_split = [&](const Tile& tile) {
    return members > 1 && tile.segments > 1 && tile.pages * members * 2 > pages;
  };
  const std::size_t part_floats = AttentionPartFloats(PaddedHeadDim(batch.head_dim));
  std::size_t floats = 0;
  for (const Tile& tile : tiles_) {
    floats += is_split(tile) ? tile.queries * tile.segments * part_floats : 0;
  }
  parts_.Reserve(floats);
  items_.clear();
  float* parts = parts_.data();
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const Tile& tile = tiles_[i];
    if (!is_split(tile)) {
      items_.push_back({i, 0, tile.segments, nullptr});
      continue;
    }
    for (std::size_t segment = 0; segment < tile.segments; ++segment) {
      items_.push_back({i, segment, segment + 1, parts});
    }
    parts += tile.queries * tile.segments * part_floats;
  }
}

void CpuAttention::RunItem(const AttentionBatch& batch, const Item& item, Scratch& scratch) const {
  const Tile& tile = tiles_[item.tile];
  const std::size_t padded = PaddedHeadDim(batch.head_dim);
  const std::size_t row_bytes = padded * KvBytes(batch.storage);
  const std::size_t head_bytes = HeadPageValues(padded) * KvBytes(batch.storage);
  const std::size_t part_floats = AttentionPartFloats(padded);
  const std::size_t part_stride = tile.segments * part_floats;
  float* parts = item.parts;
  if (parts == nullptr) {
    scratch.parts.Reserve(tile.queries * part_stride);
    parts = scratch.parts.data();
  }
  const std::byte* q =
      queries_.data() +
      (tile.kv_head * batch.rows.size() * Group(batch) + tile.first_query) * row_bytes;
  std::size_t position[kMostTileQueries];
  for (std::size_t i = 0; i < tile.queries; ++i) {
    position[i] = batch.rows[RowOf(batch, tile.first_query + i)].position;
  }
  std::byte* const* pages = batch.rows[tile.row].pages;
  std::size_t first = 0;  // queries before it see nothing of the segment
  for (std::size_t segment = item.first_segment; segment < item.last_segment; ++segment) {
    const std::size_t begin = segment * kSegmentTokens;
    while (position[first] < begin) {
      ++first;
    }
    std::size_t visible[kMostTileQueries];
    for (std::size_t i = first; i < tile.queries; ++i) {
      visible[i] = std::min(position[i] + 1 - begin, kSegmentTokens);
    }
    scratch.pages.clear();
    const std::size_t first_page = segment * kSegmentPages;
    for (std::size_t i = first_page; i < std::min(tile.pages, first_page + kSegmentPages); ++i) {
      scratch.pages.push_back(pages[i] + tile.kv_head * head_bytes);
    }
    kernels_.attention({
        scratch.pages.data(),
        batch.storage,
        padded,
        batch.scale,
        tile.queries - first,
        q + first * row_bytes,
        visible + first,
        parts + first * part_stride + segment * part_floats,
        part_stride,
    });
  }
  if (item.parts == nullptr) {
    for (std::size_t i = 0; i < tile.queries; ++i) {
      Join(batch, tile, i, parts + i * part_stride);
    }
  }
}

void CpuAttention::Join(
    const AttentionBatch& batch, const Tile& tile, std::size_t query, float* parts
) const {
  const std::size_t row = RowOf(batch, tile.first_query + query);
  const std::size_t head = tile.kv_head * Group(batch) + (tile.first_query + query) % Group(batch);
  kernels_.join_segments({
      parts,
      batch.rows[row].position / kSegmentTokens + 1,
      batch.head_dim,
      PaddedHeadDim(batch.head_dim),
      batch.out + row * batch.out_stride + head * batch.head_dim,
  });
}

void CpuAttention::Run(const AttentionBatch& batch) {
  RotateAndStore(batch);
  FindTiles(batch);
  FindItems(batch);
  std::size_t work = 0;
  for (const Tile& tile : tiles_) {
    work += tile.pages * tile.queries;
  }
  // Items differ in length, so they are dealt out one by one; little work stays on the caller. The last of a prompt are
  // the longest and go first.
  const std::size_t chunk = work <= kInlinePageQueries ? items_.size() : 1;
  team_.ForChunks(items_.size(), chunk, [&](std::size_t begin, std::size_t end, int member) {
    for (std::size_t i = begin; i < end; ++i) {
      const Item& item = items_[items_.size() - 1 - i];
      RunItem(batch, item, scratch_[static_cast<std::size_t>(member)]);
    }
  });
  for (const Item& item : items_) {
    if (item.parts != nullptr && item.first_segment == 0) {
      const Tile& tile = tiles_[item.tile];
      const std::size_t stride = tile.segments * AttentionPartFloats(PaddedHeadDim(batch.head_dim));
      for (std::size_t i = 0; i < tile.queries; ++i) {
        Join(batch, tile, i, item.parts + i * stride);
      }
    }
  }
}

}  // namespace hearth
