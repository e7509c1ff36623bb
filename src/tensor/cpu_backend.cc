#include "tensor/cpu_backend.h"

#include <algorithm>

#include "platform/aligned_buffer.h"
#include "tensor/cpu_attention.h"
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
      : kernels_(kernels), numerics_(numerics), team_(team), attention_(kernels, team) {}

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

  void Attend(const AttentionBatch& batch) override { attention_.Run(batch); }

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

  const Kernels kernels_;
  const Numerics numerics_;
  WorkerTeam& team_;
  QuantizedScratch scratch_[2];  // groups of 16, groups of 32
  CpuAttention attention_;
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

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend(
    const Kernels& kernels, Numerics numerics, WorkerTeam& team
) {
  return std::make_unique<CpuBackend>(kernels, numerics, team);
}

}  // namespace hearth
