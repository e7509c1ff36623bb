#include "forms/simulated_backend.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/dequantize.h"
#include "kernels/half.h"
#include "platform/aligned_buffer.h"
#include "tensor/cpu_backend.h"
#include "tensor/packed_matrix.h"

namespace hearth::forms {
namespace {

constexpr std::size_t kBlock = 32;

void RoundToBf16(std::span<float> values) {
  for (float& value : values) {
    value = Bf16ToFloat(FloatToBf16(value));
  }
}

void RoundToByteBlocks(std::span<float> values) {
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    const auto block = values.subspan(first, std::min(kBlock, values.size() - first));
    float most = 0;
    for (const float value : block) {
      most = std::max(most, std::fabs(value));
    }
    const float factor = most / 127.0f;
    const float inverse = factor == 0.0f ? 0.0f : 1.0f / factor;
    const float stored = HalfToFloat(FloatToHalf(factor));
    for (float& value : block) {
      value = std::round(value * inverse) * stored;
    }
  }
}

class SimulatedWeights final : public LinearWeights {
 public:
  SimulatedWeights(std::unique_ptr<LinearWeights> packed, bool is_simulated)
      : inner(std::move(packed)), simulated(is_simulated) {}

  std::size_t outputs() const override { return inner->outputs(); }

  std::size_t inputs() const override { return inner->inputs(); }

  std::size_t bytes() const override { return inner->bytes(); }

  const std::unique_ptr<LinearWeights> inner;
  const bool simulated;
};

class SimulatedBackend final : public Backend {
 public:
  SimulatedBackend(const Kernels& kernels, Simulation simulation, WorkerTeam& team)
      : simulation_(simulation),
        float32_(MakeCpuBackend(kernels, Numerics::kF32, team)),
        default_(MakeCpuBackend(kernels, Numerics::kDefault, team)) {}

  Numerics numerics() const override { return Numerics::kDefault; }

  // Of both that stand behind. The rounded copies of a product's inputs are not counted: nothing is admitted by this.
  ForwardCost ScratchCost(const ScratchShape& shape) const override {
    ForwardCost cost = float32_->ScratchCost(shape);
    const ForwardCost exact = default_->ScratchCost(shape);
    cost.fixed_bytes += exact.fixed_bytes;
    cost.token_bytes += exact.token_bytes;
    return cost;
  }

  std::unique_ptr<LinearWeights> Pack(const WeightView& view) override {
    if (!PanelKindOf(view.type)) {
      return std::make_unique<SimulatedWeights>(default_->Pack(view), false);
    }
    if (!simulation_.bf16_weights) {
      return std::make_unique<SimulatedWeights>(float32_->Pack(view), true);
    }
    const BlockLayout layout = LayoutOf(view.type);
    std::vector<float> values(view.rows * view.columns);
    const std::size_t row_bytes = view.columns / layout.values * layout.bytes;
    for (std::size_t row = 0; row < view.rows; ++row) {
      DequantizeRow(
          view.type,
          view.data.data() + row * row_bytes,
          view.columns,
          values.data() + row * view.columns
      );
    }
    RoundToBf16(values);
    const WeightView rounded{
        view.name, ElementType::kF32, view.rows, view.columns, std::as_bytes(std::span(values))
    };
    return std::make_unique<SimulatedWeights>(float32_->Pack(rounded), true);
  }

  void Linear(const RowsView& x, std::span<const LinearJob> jobs) override {
    std::vector<LinearJob> simulated, exact;
    for (LinearJob job : jobs) {
      const auto& weights = static_cast<const SimulatedWeights&>(*job.weights);
      job.weights = weights.inner.get();
      (weights.simulated ? simulated : exact).push_back(job);
    }
    if (!exact.empty()) {
      default_->Linear(x, exact);
    }
    if (!simulated.empty()) {
      float32_->Linear(Rounded(x), simulated);
    }
  }

  void RmsNorm(
      const RowsView& x, const float* weight, float epsilon, float* out, std::size_t out_stride
  ) override {
    default_->RmsNorm(x, weight, epsilon, out, out_stride);
  }

  void SwiGlu(
      float* gate, const float* up, std::size_t rows, std::size_t width, std::size_t stride
  ) override {
    default_->SwiGlu(gate, up, rows, width, stride);
  }

  void ForRows(
      std::size_t rows,
      std::size_t width,
      const std::function<void(std::size_t begin, std::size_t end)>& job
  ) override {
    default_->ForRows(rows, width, job);
  }

  void Attend(const AttentionBatch& batch) override { default_->Attend(batch); }

 private:
  RowsView Rounded(const RowsView& x) {
    const std::size_t stride = (x.width + kBlock - 1) / kBlock * kBlock;
    rounded_.Resize(x.rows * stride);
    for (std::size_t row = 0; row < x.rows; ++row) {
      const std::span<float> values(rounded_.data() + row * stride, x.width);
      std::copy_n(x.data + row * x.stride, x.width, values.data());
      switch (simulation_.activations) {
        case ActivationRounding::kNone:
          break;
        case ActivationRounding::kBf16:
          RoundToBf16(values);
          break;
        case ActivationRounding::kByteBlocks:
          RoundToByteBlocks(values);
          break;
      }
    }
    return {rounded_.data(), x.rows, x.width, stride};
  }

  const Simulation simulation_;
  const std::unique_ptr<Backend> float32_;
  const std::unique_ptr<Backend> default_;
  AlignedBuffer<float> rounded_;
};

}  // namespace

std::unique_ptr<Backend> MakeSimulatedBackend(
    const Kernels& kernels, Simulation simulation, WorkerTeam& team
) {
  return std::make_unique<SimulatedBackend>(kernels, simulation, team);
}

}  // namespace hearth::forms
