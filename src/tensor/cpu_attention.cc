#include "tensor/cpu_attention.h"

#include <algorithm>
#include <vector>

namespace hearth {
namespace {

// Below this many values the hop to another thread costs more than it saves.
constexpr std::size_t kInlineValues = 4096;

}  // namespace

void CpuAttention::RotateAndStore(const AttentionBatch& batch) {
  const std::size_t padded = PaddedHeadDim(batch.head_dim);
  const std::size_t head_bytes = HeadPageValues(padded) * KvBytes(batch.storage);
  padded_queries_.Reserve(batch.rows.size() * batch.heads * padded);
  const std::size_t width = (batch.heads + 2 * batch.kv_heads) * batch.head_dim;
  const std::size_t grain = std::max<std::size_t>(1, kInlineValues / width);
  team_.ForRanges(batch.rows.size(), grain, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t row = begin; row < end; ++row) {
      const float* cosine = batch.cosine + row * batch.rotary_pairs;
      const float* sine = batch.sine + row * batch.rotary_pairs;
      for (std::size_t head = 0; head < batch.heads; ++head) {
        float* q = batch.q + (row * batch.heads + head) * batch.head_dim;
        RotatePairs(q, cosine, sine, batch.rotary_pairs);
        float* copy = padded_queries_.data() + (row * batch.heads + head) * padded;
        std::copy_n(q, batch.head_dim, copy);
        std::fill(copy + batch.head_dim, copy + padded, 0.0f);
      }
      const AttentionRow& place = batch.rows[row];
      for (std::size_t head = 0; head < batch.kv_heads; ++head) {
        const std::size_t at = (row * batch.kv_heads + head) * batch.head_dim;
        RotatePairs(batch.k + at, cosine, sine, batch.rotary_pairs);
        StoreKv({
            place.pages[place.position / kPageTokens] + head * head_bytes,
            batch.storage,
            batch.head_dim,
            padded,
            place.position % kPageTokens,
            batch.k + at,
            batch.v + at,
        });
      }
    }
  });
}

void CpuAttention::Run(const AttentionBatch& batch) {
  RotateAndStore(batch);
  const std::size_t padded = PaddedHeadDim(batch.head_dim);
  const std::size_t head_bytes = HeadPageValues(padded) * KvBytes(batch.storage);
  const std::size_t group = batch.heads / batch.kv_heads;

  // A tile's queries share a key head and a sequence: all query heads of it at neighbouring positions.
  struct Tile {
    std::size_t row;
    std::size_t first_query;  // index into rows * group, from `row` on
    std::size_t queries;
    std::size_t kv_head;
  };

  std::vector<Tile> tiles;
  for (std::size_t row = 0; row < batch.rows.size();) {
    std::size_t end = row + 1;
    while (end < batch.rows.size() && batch.rows[end].pages == batch.rows[row].pages) {
      ++end;
    }
    const std::size_t queries = (end - row) * group;
    for (std::size_t kv_head = 0; kv_head < batch.kv_heads; ++kv_head) {
      for (std::size_t first = 0; first < queries; first += kMostTileQueries) {
        tiles.push_back({row, first, std::min(kMostTileQueries, queries - first), kv_head});
      }
    }
    row = end;
  }
  const auto run = [&](const Tile& tile) {
    const AttentionRow& first = batch.rows[tile.row];
    const float* q[kMostTileQueries];
    std::size_t position[kMostTileQueries];
    float* out[kMostTileQueries];
    for (std::size_t i = 0; i < tile.queries; ++i) {
      const std::size_t row = tile.row + (tile.first_query + i) / group;
      const std::size_t head = tile.kv_head * group + (tile.first_query + i) % group;
      q[i] = padded_queries_.data() + (row * batch.heads + head) * padded;
      position[i] = batch.rows[row].position;
      out[i] = batch.out + row * batch.out_stride + head * batch.head_dim;
    }
    // The last query sees most pages.
    const std::size_t pages = position[tile.queries - 1] / kPageTokens + 1;
    std::vector<const std::byte*> head_pages(pages);
    for (std::size_t page = 0; page < pages; ++page) {
      head_pages[page] = first.pages[page] + tile.kv_head * head_bytes;
    }
    kernels_.attention({
        head_pages.data(),
        batch.storage,
        batch.head_dim,
        padded,
        batch.scale,
        tile.queries,
        q,
        position,
        out,
    });
  };
  // Later tiles of a prompt see more keys, so they are dealt in turn, not in runs.
  const auto members = static_cast<std::size_t>(team_.members());
  team_.ForRanges(std::min(members, tiles.size()), 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t part = begin; part < end; ++part) {
      for (std::size_t tile = part; tile < tiles.size(); tile += members) {
        run(tiles[tile]);
      }
    }
  });
}

}  // namespace hearth
