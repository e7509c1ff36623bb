// Weights of a linear layer in the layout that the kernels read. Knows element types, not models.
#pragma once

#include <cstddef>
#include <optional>
#include <variant>

#include "hearth/numerics.h"
#include "kernels/kernels.h"
#include "platform/aligned_buffer.h"
#include "platform/worker_team.h"
#include "tensor/weight_view.h"

namespace hearth {

// Which panels a type is packed into under kDefault; none for float types. Q4_0 Q4_1 Q8_0 Q4_K Q6_K.
std::optional<PanelKind> PanelKindOf(ElementType type);

// A packed copy: quantized panels under kDefault for quantized types, float panels otherwise (the file's own
// float type under kDefault, float32 under kF32).
// Ownership: owns its bytes; the view may go after construction.
// Threads:   immutable after construction.
// Errors:    std::bad_alloc.
// Cost:      reads the view once and writes about as many bytes (kF32: 4 a weight), split over the team.
class PackedMatrix {
 public:
  PackedMatrix(const WeightView& view, Numerics numerics, WorkerTeam& team);

  // What bytes() of a packed copy will be; reads nothing of the view's data.
  static std::size_t BytesOf(const WeightView& view, Numerics numerics);

  std::size_t outputs() const { return outputs_; }

  std::size_t inputs() const { return inputs_; }

  std::size_t panel_count() const { return (outputs_ + kPanelOutputs - 1) / kPanelOutputs; }

  std::size_t bytes() const { return data_.size(); }

  // Whether it multiplies quantized activations.
  bool quantized() const { return quantized_.has_value(); }

  // Panels as the kernels take them; valid while this lives. Exactly one is the matrix's kind.
  std::variant<QuantizedPanels, FloatPanels> panels() const;

 private:
  void PackQuantized(const WeightView& view, WorkerTeam& team);
  void PackFloat(const WeightView& view, WorkerTeam& team);

  std::size_t outputs_;
  std::size_t inputs_;
  std::optional<PanelKind> quantized_;
  FloatStorage storage_ = FloatStorage::kF32;
  AlignedBuffer<std::byte> data_;
};

}  // namespace hearth
