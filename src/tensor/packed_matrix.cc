#include "tensor/packed_matrix.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/dequantize.h"
#include "tensor/block_codes.h"

namespace hearth {
namespace {

FloatStorage StorageOf(ElementType type, Numerics numerics) {
  if (numerics == Numerics::kDefault && type == ElementType::kF16) {
    return FloatStorage::kF16;
  }
  if (numerics == Numerics::kDefault && type == ElementType::kBF16) {
    return FloatStorage::kBF16;
  }
  return FloatStorage::kF32;
}

std::size_t PaddedInputs(std::size_t inputs) {
  return (inputs + kFloatBlock - 1) / kFloatBlock * kFloatBlock;
}

std::size_t RowBytes(const WeightView& view) {
  const BlockLayout layout = LayoutOf(view.type);
  return view.columns / layout.values * layout.bytes;
}

// Puts `count` words of four bytes, 64 bytes apart, from where `lane`'s first one stands.
void PlaceWords(const void* words, std::size_t count, std::size_t lane, std::byte* out) {
  const auto* from = static_cast<const std::byte*>(words);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(out + 64 * i + 4 * lane, from + 4 * i, 4);
  }
}

void PlaceHalf(std::uint16_t bits, std::size_t lane, std::byte* out) {
  std::memcpy(out + 2 * lane, &bits, 2);
}

// Puts one group of one output, and with the first of a segment its header, into its place; layout in
// kernels/matmul_quantized.h.
void PlaceGroup(
    const GroupCodes& group, PanelKind kind, std::size_t g, std::size_t lane, std::byte* panel
) {
  const std::size_t in_segment = g % kSegmentGroups;
  std::byte* header = panel + PanelBytes(kind, g - in_segment);
  std::byte* out = header + HeaderBytes(kind) + in_segment * GroupBytes(kind);
  switch (kind) {
    case PanelKind::kCode4:
    case PanelKind::kCode4Minimum:
      PlaceWords(group.nibbles, 4, lane, out);
      PlaceHalf(group.scale, lane, out + 256);
      if (kind == PanelKind::kCode4Minimum) {
        PlaceHalf(group.minimum, lane, out + 288);
      }
      return;
    case PanelKind::kCode8:
      PlaceWords(group.bytes, 8, lane, out);
      return PlaceHalf(group.scale, lane, out + 512);
    case PanelKind::kCode4Nested:
      PlaceHalf(group.scale, lane, header);
      PlaceHalf(group.minimum, lane, header + 32);
      out[lane] = std::byte{group.nested_scale[0]};
      out[16 + lane] = std::byte{group.nested_minimum};
      return PlaceWords(group.nibbles, 4, lane, out + 32);
    case PanelKind::kCode6Nested:
      PlaceHalf(group.scale, lane, header);
      out[lane] = std::byte{group.nested_scale[0]};
      out[16 + lane] = std::byte{group.nested_scale[1]};
      PlaceWords(group.nibbles, 4, lane, out + 32);
      return PlaceWords(group.pairs, 2, lane, out + 288);
  }
}

}  // namespace

std::optional<PanelKind> PanelKindOf(ElementType type) {
  switch (type) {
    case ElementType::kQ4_0:
      return PanelKind::kCode4;
    case ElementType::kQ4_1:
      return PanelKind::kCode4Minimum;
    case ElementType::kQ8_0:
      return PanelKind::kCode8;
    case ElementType::kQ4_K:
      return PanelKind::kCode4Nested;
    case ElementType::kQ6_K:
      return PanelKind::kCode6Nested;
    case ElementType::kF32:
    case ElementType::kF16:
    case ElementType::kBF16:
      return std::nullopt;
  }
  return std::nullopt;
}

std::size_t PackedMatrix::BytesOf(const WeightView& view, Numerics numerics) {
  const std::size_t panels = (view.rows + kPanelOutputs - 1) / kPanelOutputs;
  if (const auto kind = PanelKindOf(view.type); kind && numerics == Numerics::kDefault) {
    return panels * PanelBytes(*kind, view.columns / kGroupInputs);
  }
  return panels * kPanelOutputs * PaddedInputs(view.columns) *
         FloatBytes(StorageOf(view.type, numerics));
}

PackedMatrix::PackedMatrix(const WeightView& view, Numerics numerics, WorkerTeam& team)
    : outputs_(view.rows), inputs_(view.columns) {
  if (numerics == Numerics::kDefault) {
    quantized_ = PanelKindOf(view.type);
  }
  data_.Resize(BytesOf(view, numerics));
  if (quantized_) {
    PackQuantized(view, team);
  } else {
    storage_ = StorageOf(view.type, numerics);
    PackFloat(view, team);
  }
}

std::variant<QuantizedPanels, FloatPanels> PackedMatrix::panels() const {
  if (quantized_) {
    return QuantizedPanels{data_.data(), *quantized_, outputs_, inputs_ / kGroupInputs};
  }
  return FloatPanels{data_.data(), storage_, outputs_, (inputs_ + kFloatBlock - 1) / kFloatBlock};
}

void PackedMatrix::PackQuantized(const WeightView& view, WorkerTeam& team) {
  const PanelKind kind = *quantized_;
  const std::size_t groups = inputs_ / kGroupInputs;
  const std::size_t panel_bytes = PanelBytes(kind, groups);
  team.ForRanges(panel_count(), 1, [&](std::size_t begin, std::size_t end, int) {
    GroupCodes codes{};
    for (std::size_t output = begin * kPanelOutputs;
         output < std::min(outputs_, end * kPanelOutputs);
         ++output) {
      const std::byte* row = view.data.data() + output * RowBytes(view);
      std::byte* panel = data_.data() + output / kPanelOutputs * panel_bytes;
      for (std::size_t g = 0; g < groups; ++g) {
        ReadGroup(view.type, row, g, codes);
        PlaceGroup(codes, kind, g, output % kPanelOutputs, panel);
      }
    }
  });
}

void PackedMatrix::PackFloat(const WeightView& view, WorkerTeam& team) {
  const std::size_t bytes = FloatBytes(storage_);
  const std::size_t padded = PaddedInputs(inputs_);
  team.ForRanges(panel_count(), 1, [&](std::size_t begin, std::size_t end, int) {
    std::vector<float> values(inputs_);
    for (std::size_t output = begin * kPanelOutputs;
         output < std::min(outputs_, end * kPanelOutputs);
         ++output) {
      const std::byte* source = view.data.data() + output * RowBytes(view);
      if (storage_ == FloatStorage::kF32) {
        DequantizeRow(view.type, source, inputs_, values.data());
        source = std::as_bytes(std::span(values)).data();
      }
      std::byte* panel = data_.data() + output / kPanelOutputs * padded * kPanelOutputs * bytes;
      for (std::size_t k = 0; k < inputs_; ++k) {
        const std::size_t at = k * kPanelOutputs + output % kPanelOutputs;
        std::memcpy(panel + at * bytes, source + k * bytes, bytes);
      }
    }
  });
}

}  // namespace hearth
