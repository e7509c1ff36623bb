#include "tensor/cpu_backend.h"

#include <algorithm>
#include <vector>

#include "platform/aligned_buffer.h"
#include "tensor/packed_matrix.h"

namespace hearth {
namespace {

// Below this many values the hop to another thread costs more than it saves.
constexpr std::size_t kInlineValues = 4096;

class CpuLinearWeights final : public LinearWeights {
 public:
  CpuLinearWeights(const WeightView& view, Numerics numerics, WorkerTeam& team)
      : matrix(view, numerics, team) {}

  std::size_t outputs() const override { return matrix.outputs(); }

  std::size_t inputs() const override { return matrix.inputs(); }

  std::size_t bytes() const override { return matrix.bytes(); }

  const PackedMatrix matrix;
};

// Quantized copies of one set of rows, for one group width.
struct QuantizedScratch {
  AlignedBuffer<std::int8_t> planes;
  AlignedBuffer<float> factor;
  AlignedBuffer<std::int32_t> sum;
  AlignedBuffer<float> scaled_sum;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Kernels& kernels, Numerics numerics, WorkerTeam& team)
      : kernels_(kernels), numerics_(numerics), team_(team) {}

  Numerics numerics() const override { return numerics_; }

  std::unique_ptr<LinearWeights> Pack(const WeightView& view) override {
    return std::make_unique<CpuLinearWeights>(view, numerics_, team_);
  }

  void Linear(const RowsView& x, std::span<const LinearJob> jobs) override;
  void RmsNorm(
      const RowsView& x, const float* weight, float epsilon, float* out, std::size_t out_stride
  ) override;
  void SwiGlu(
      float* gate, const float* up, std::size_t rows, std::size_t width, std::size_t stride
  ) override;
  void Attend(const AttentionBatch& batch) override;

 private:
  // Rows a thread takes at least, so that small work stays on the caller.
  static std::size_t RowGrain(std::size_t width) {
    return std::max<std::size_t>(1, kInlineValues / std::max<std::size_t>(1, width));
  }

  QuantizedRows Quantize(const RowsView& x, int group);
  void RunPanels(
      const RowsView& x,
      const LinearJob& job,
      const QuantizedRows& rows16,
      const QuantizedRows& rows32,
      std::size_t first,
      std::size_t last
  );
  void RotateAndStore(const AttentionBatch& batch);

  const Kernels kernels_;
  const Numerics numerics_;
  WorkerTeam& team_;
  QuantizedScratch scratch_[2];  // groups of 16, groups of 32
  AlignedBuffer<float> padded_queries_;
};

const PackedMatrix& MatrixOf(const LinearJob& job) {
  return static_cast<const CpuLinearWeights*>(job.weights)->matrix;
}

QuantizedRows CpuBackend::Quantize(const RowsView& x, int group) {
  QuantizedScratch& scratch = scratch_[group == 32 ? 1 : 0];
  const std::size_t groups = x.width / static_cast<std::size_t>(group);
  scratch.planes.Reserve(x.rows * x.width * 2);
  scratch.factor.Reserve(x.rows * groups);
  scratch.sum.Reserve(x.rows * groups);
  scratch.scaled_sum.Reserve(x.rows * groups);
  const QuantizedRowsOut out{
      scratch.planes.data(), scratch.factor.data(), scratch.sum.data(), scratch.scaled_sum.data()
  };
  team_.ForRanges(x.rows, RowGrain(x.width), [&](std::size_t begin, std::size_t end, int) {
    kernels_.quantize_rows({x.data, x.stride, begin, end, groups, group, out});
  });
  return {out.planes, out.factor, out.sum, out.scaled_sum, x.rows};
}

void CpuBackend::RunPanels(
    const RowsView& x,
    const LinearJob& job,
    const QuantizedRows& rows16,
    const QuantizedRows& rows32,
    std::size_t first,
    std::size_t last
) {
  const auto panels = MatrixOf(job).panels();
  if (const auto* quantized = std::get_if<QuantizedPanels>(&panels)) {
    const QuantizedRows& rows = quantized->format.group == 32 ? rows32 : rows16;
    kernels_.matmul_quantized({*quantized, rows, first, last, job.add, job.out, job.stride});
  } else {
    const FloatPanels& weights = std::get<FloatPanels>(panels);
    kernels_.matmul_float(
        {weights, x.data, x.stride, x.rows, first, last, job.add, job.out, job.stride}
    );
  }
}

void CpuBackend::Linear(const RowsView& x, std::span<const LinearJob> jobs) {
  if (x.rows == 0) {
    return;
  }
  QuantizedRows rows16{};
  QuantizedRows rows32{};
  std::size_t panels = 0;
  for (const LinearJob& job : jobs) {
    const int group = MatrixOf(job).group();
    if (group == 32 && rows32.rows == 0) {
      rows32 = Quantize(x, 32);
    } else if (group == 16 && rows16.rows == 0) {
      rows16 = Quantize(x, 16);
    }
    panels += MatrixOf(job).panel_count();
  }
  // The jobs' panels stand in one line, so that the team splits them evenly.
  team_.ForRanges(panels, 1, [&](std::size_t begin, std::size_t end, int) {
    std::size_t start = 0;
    for (const LinearJob& job : jobs) {
      const std::size_t count = MatrixOf(job).panel_count();
      const std::size_t first = std::clamp(begin, start, start + count) - start;
      const std::size_t last = std::clamp(end, start, start + count) - start;
      if (first < last) {
        RunPanels(x, job, rows16, rows32, first, last);
      }
      start += count;
    }
  });
}

void CpuBackend::RmsNorm(
    const RowsView& x, const float* weight, float epsilon, float* out, std::size_t out_stride
) {
  team_.ForRanges(x.rows, RowGrain(x.width), [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t row = begin; row < end; ++row) {
      kernels_.rms_norm(
          {x.data + row * x.stride, weight, x.width, epsilon, out + row * out_stride}
      );
    }
  });
}

void CpuBackend::SwiGlu(
    float* gate, const float* up, std::size_t rows, std::size_t width, std::size_t stride
) {
  team_.ForRanges(rows, RowGrain(width), [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t row = begin; row < end; ++row) {
      kernels_.swiglu({gate + row * stride, up + row * stride, width});
    }
  });
}

void CpuBackend::RotateAndStore(const AttentionBatch& batch) {
  const std::size_t padded = PaddedHeadDim(batch.head_dim);
  const std::size_t head_bytes = HeadPageValues(padded) * KvBytes(batch.storage);
  padded_queries_.Reserve(batch.rows.size() * batch.heads * padded);
  const std::size_t width = (batch.heads + 2 * batch.kv_heads) * batch.head_dim;
  team_.ForRanges(batch.rows.size(), RowGrain(width), [&](std::size_t begin, std::size_t end, int) {
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

void CpuBackend::Attend(const AttentionBatch& batch) {
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

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend(
    const Kernels& kernels, Numerics numerics, WorkerTeam& team
) {
  return std::make_unique<CpuBackend>(kernels, numerics, team);
}

}  // namespace hearth
