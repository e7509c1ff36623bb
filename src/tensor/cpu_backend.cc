#include "tensor/cpu_backend.h"

#include <algorithm>

#include "kernels/quantized_rows_buffer.h"
#include "tensor/cpu_attention.h"
#include "tensor/packed_matrix.h"

namespace hearth {
namespace {

// Below this many values the hop to another thread costs more than it saves.
constexpr std::size_t kInlineValues = 4096;

// A member that is held up keeps the others waiting for at most this part of its share.
constexpr std::size_t kChunksAMember = 8;

class CpuLinearWeights final : public LinearWeights {
 public:
  CpuLinearWeights(const WeightView& view, Numerics numerics, WorkerTeam& team)
      : matrix(view, numerics, team) {}

  std::size_t outputs() const override { return matrix.outputs(); }

  std::size_t inputs() const override { return matrix.inputs(); }

  std::size_t bytes() const override { return matrix.bytes(); }

  const PackedMatrix matrix;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Kernels& kernels, Numerics numerics, WorkerTeam& team)
      : kernels_(kernels), numerics_(numerics), team_(team), attention_(kernels, team) {}

  Numerics numerics() const override { return numerics_; }

  ForwardCost ScratchCost(const ScratchShape& shape) const override {
    return CpuScratchCost(shape, numerics_, static_cast<std::size_t>(team_.members()));
  }

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

  void ForRows(
      std::size_t rows, std::size_t width, const std::function<void(std::size_t, std::size_t)>& job
  ) override {
    team_.ForRanges(rows, RowGrain(width), [&](std::size_t begin, std::size_t end, int) {
      job(begin, end);
    });
  }

  void Attend(const AttentionBatch& batch) override { attention_.Run(batch); }

 private:
  // Rows a thread takes at least, so that small work stays on the caller.
  static std::size_t RowGrain(std::size_t width) {
    return std::max<std::size_t>(1, kInlineValues / std::max<std::size_t>(1, width));
  }

  void Quantize(const RowsView& x);
  void RunPanels(
      const RowsView& x, const LinearJob& job, std::size_t first, std::size_t last
  ) const;

  const Kernels kernels_;
  const Numerics numerics_;
  WorkerTeam& team_;
  QuantizedRowsBuffer quantized_;
  CpuAttention attention_;
};

const PackedMatrix& MatrixOf(const LinearJob& job) {
  return static_cast<const CpuLinearWeights*>(job.weights)->matrix;
}

void CpuBackend::Quantize(const RowsView& x) {
  quantized_.Reserve(x.rows, x.width / kGroupInputs);
  const auto out = quantized_.Out();
  team_.ForRanges(x.rows, RowGrain(x.width), [&](std::size_t begin, std::size_t end, int) {
    kernels_.quantize_rows({x.data, x.stride, begin, end, out});
  });
}

void CpuBackend::RunPanels(
    const RowsView& x, const LinearJob& job, std::size_t first, std::size_t last
) const {
  const auto panels = MatrixOf(job).panels();
  if (const auto* weights = std::get_if<QuantizedPanels>(&panels)) {
    kernels_.matmul_quantized(
        {*weights, quantized_.View(), 0, x.rows, first, last, job.add, job.out, job.stride}
    );
  } else {
    kernels_.matmul_float(
        {std::get<FloatPanels>(panels),
         x.data,
         x.stride,
         x.rows,
         first,
         last,
         job.add,
         job.out,
         job.stride}
    );
  }
}

void CpuBackend::Linear(const RowsView& x, std::span<const LinearJob> jobs) {
  if (x.rows == 0) {
    return;
  }
  std::size_t panels = 0;
  bool quantized = false;
  for (const LinearJob& job : jobs) {
    quantized = quantized || MatrixOf(job).quantized();
    panels += MatrixOf(job).panel_count();
  }
  if (quantized) {
    Quantize(x);
  }
  // The jobs' panels stand in one line, dealt out in even chunks of which each member takes several.
  const std::size_t share = panels / (static_cast<std::size_t>(team_.members()) * kChunksAMember);
  const std::size_t chunk = std::max<std::size_t>(2, share / 2 * 2);
  team_.ForChunks(panels, chunk, [&](std::size_t begin, std::size_t end, int) {
    std::size_t start = 0;
    for (const LinearJob& job : jobs) {
      const std::size_t count = MatrixOf(job).panel_count();
      const std::size_t first = std::clamp(begin, start, start + count) - start;
      const std::size_t last = std::clamp(end, start, start + count) - start;
      if (first < last) {
        RunPanels(x, job, first, last);
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

}  // namespace

ForwardCost CpuScratchCost(const ScratchShape& shape, Numerics numerics, std::size_t members) {
  ForwardCost cost = CpuAttention::ScratchCost(shape, members);
  if (numerics == Numerics::kDefault) {
    const std::size_t groups = (shape.widest_input + kGroupInputs - 1) / kGroupInputs;
    cost.fixed_bytes += QuantizedRowsBuffer::FixedBytes();
    cost.token_bytes += QuantizedRowsBuffer::RowBytes(groups);
  }
  return cost;
}

std::unique_ptr<Backend> MakeCpuBackend(
    const Kernels& kernels, Numerics numerics, WorkerTeam& team
) {
  return std::make_unique<CpuBackend>(kernels, numerics, team);
}

}  // namespace hearth
