#include "tensor/sizing_backend.h"

#include "hearth/error.h"
#include "tensor/cpu_backend.h"
#include "tensor/packed_matrix.h"

namespace hearth {
namespace {

class SizedWeights final : public LinearWeights {
 public:
  SizedWeights(const WeightView& view, Numerics numerics)
      : outputs_(view.rows), inputs_(view.columns), bytes_(PackedMatrix::BytesOf(view, numerics)) {}

  std::size_t outputs() const override { return outputs_; }

  std::size_t inputs() const override { return inputs_; }

  std::size_t bytes() const override { return bytes_; }

 private:
  std::size_t outputs_;
  std::size_t inputs_;
  std::size_t bytes_;
};

[[noreturn]] void Refuse() {
  throw Error(ErrorCode::kInternal, "sizing backend: got work to compute, wanted none");
}

class SizingBackend final : public Backend {
 public:
  SizingBackend(Numerics numerics, std::size_t members) : numerics_(numerics), members_(members) {}

  Numerics numerics() const override { return numerics_; }

  ForwardCost ScratchCost(const ScratchShape& shape) const override {
    return CpuScratchCost(shape, numerics_, members_);
  }

  std::unique_ptr<LinearWeights> Pack(const WeightView& view) override {
    return std::make_unique<SizedWeights>(view, numerics_);
  }

  void Linear(const RowsView&, std::span<const LinearJob>) override { Refuse(); }

  void RmsNorm(const RowsView&, const float*, float, float*, std::size_t) override { Refuse(); }

  void SwiGlu(float*, const float*, std::size_t, std::size_t, std::size_t) override { Refuse(); }

  void ForRows(
      std::size_t, std::size_t, const std::function<void(std::size_t, std::size_t)>&
  ) override {
    Refuse();
  }

  void Attend(const AttentionBatch&) override { Refuse(); }

 private:
  const Numerics numerics_;
  const std::size_t members_;
};

}  // namespace

std::unique_ptr<Backend> MakeSizingBackend(Numerics numerics, std::size_t members) {
  return std::make_unique<SizingBackend>(numerics, members);
}

}  // namespace hearth
