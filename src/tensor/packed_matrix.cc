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

std::size_t RowBytes(const WeightView& view) {
  const BlockLayout layout = LayoutOf(view.type);
  return view.columns / layout.values * layout.bytes;
}

// Puts one group of one output into its place in a packed group; layout in kernels/matmul_quantized.h.
void PlaceGroup(
    const GroupCodes& group, const PanelFormat& format, std::size_t lane, std::byte* out
) {
  const auto width = static_cast<std::size_t>(format.group);
  for (std::size_t k = 0; k < width; ++k) {
    const bool high = format.bits == 4 && k >= width / 2;
    const std::size_t column = high ? k - width / 2 : k;
    std::byte& at = out[column / 4 * 64 + lane * 4 + column % 4];
    at |= static_cast<std::byte>(high ? group.codes[k] << 4 : group.codes[k]);
  }
  std::byte* scales = out + kPanelOutputs * width * static_cast<std::size_t>(format.bits) / 8;
  const std::size_t bytes = format.half_scales ? 2 : 4;
  const void* scale = format.half_scales ? static_cast<const void*>(&group.half_scale)
                                         : static_cast<const void*>(&group.scale);
  const void* minimum = format.half_scales ? static_cast<const void*>(&group.half_minimum)
                                           : static_cast<const void*>(&group.minimum);
  std::memcpy(scales + lane * bytes, scale, bytes);
  if (format.minima) {
    std::memcpy(scales + (kPanelOutputs + lane) * bytes, minimum, bytes);
  }
}

}  // namespace

std::optional<PanelFormat> PanelFormatOf(ElementType type) {
  switch (type) {
    case ElementType::kQ4_0:
      return PanelFormat{4, 32, true, false, 8};
    case ElementType::kQ4_1:
      return PanelFormat{4, 32, true, true, 0};
    case ElementType::kQ8_0:
      return PanelFormat{8, 32, true, false, 128};
    case ElementType::kQ4_K:
      return PanelFormat{4, 32, false, true, 0};
    case ElementType::kQ6_K:
      return PanelFormat{8, 16, false, false, 32};
    case ElementType::kF32:
    case ElementType::kF16:
    case ElementType::kBF16:
      return std::nullopt;
  }
  return std::nullopt;
}

PackedMatrix::PackedMatrix(const WeightView& view, Numerics numerics, WorkerTeam& team)
    : outputs_(view.rows), inputs_(view.columns) {
  if (numerics == Numerics::kDefault) {
    quantized_ = PanelFormatOf(view.type);
  }
  if (quantized_) {
    PackQuantized(view, team);
  } else {
    PackFloat(view, numerics, team);
  }
}

int PackedMatrix::group() const {
  return quantized_ ? quantized_->group : 0;
}

std::variant<QuantizedPanels, FloatPanels> PackedMatrix::panels() const {
  if (quantized_) {
    const std::size_t groups = inputs_ / static_cast<std::size_t>(quantized_->group);
    return QuantizedPanels{data_.data(), *quantized_, outputs_, groups};
  }
  return FloatPanels{data_.data(), storage_, outputs_, (inputs_ + kFloatBlock - 1) / kFloatBlock};
}

void PackedMatrix::PackQuantized(const WeightView& view, WorkerTeam& team) {
  const PanelFormat format = *quantized_;
  const std::size_t groups = inputs_ / static_cast<std::size_t>(format.group);
  const std::size_t group_bytes = GroupBytes(format);
  data_.Resize(panel_count() * groups * group_bytes);
  team.ForRanges(panel_count(), 1, [&](std::size_t begin, std::size_t end, int) {
    GroupCodes codes{};
    for (std::size_t output = begin * kPanelOutputs;
         output < std::min(outputs_, end * kPanelOutputs);
         ++output) {
      const std::byte* row = view.data.data() + output * RowBytes(view);
      const std::size_t panel = output / kPanelOutputs;
      for (std::size_t g = 0; g < groups; ++g) {
        ReadGroup(view.type, row, g, codes);
        PlaceGroup(
            codes, format, output % kPanelOutputs, data_.data() + (panel * groups + g) * group_bytes
        );
      }
    }
  });
}

void PackedMatrix::PackFloat(const WeightView& view, Numerics numerics, WorkerTeam& team) {
  storage_ = StorageOf(view.type, numerics);
  const std::size_t bytes = FloatBytes(storage_);
  const std::size_t padded = (inputs_ + kFloatBlock - 1) / kFloatBlock * kFloatBlock;
  data_.Resize(panel_count() * padded * kPanelOutputs * bytes);
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
