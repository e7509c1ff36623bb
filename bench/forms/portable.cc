// The two forms as their definitions say, one output at a time: what the other variants are compared with.
#include <cmath>
#include <cstring>

#include "forms/form_kernels.h"
#include "kernels/half.h"

namespace hearth::forms::portable {
namespace {

// One output's group of weights.
struct GroupWeights {
  float codes[32];           // code - zero
  std::size_t scale_inputs;  // inputs of one scale: 32 or 16
  float scales[2];
  bool has_minimum;
  float minimum;
};

std::uint8_t ByteAt(const std::byte* at) {
  return static_cast<std::uint8_t>(*at);
}

float HalfAt(const std::byte* at) {
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return HalfToFloat(bits);
}

// The nibble of input k for one output.
int NibbleAt(const std::byte* nibbles, std::size_t lane, std::size_t k) {
  const int byte = ByteAt(nibbles + k % 16 / 4 * 64 + lane * 4 + k % 4);
  return k < 16 ? byte & 0xf : byte >> 4;
}

GroupWeights ReadGroupWeights(const QuantizedPanels& panels, std::size_t output, std::size_t g) {
  const PanelKind kind = panels.kind;
  const std::size_t lane = output % kPanelOutputs;
  const std::byte* header = panels.data + output / kPanelOutputs * PanelBytes(kind, panels.groups) +
                            PanelBytes(kind, g / kSegmentGroups * kSegmentGroups);
  const std::byte* group = header + HeaderBytes(kind) + g % kSegmentGroups * GroupBytes(kind);
  GroupWeights weights{};
  weights.scale_inputs = kind == PanelKind::kCode6Nested ? 16 : 32;
  weights.has_minimum = kind == PanelKind::kCode4Minimum || kind == PanelKind::kCode4Nested;
  const bool nested = kind == PanelKind::kCode4Nested || kind == PanelKind::kCode6Nested;
  for (std::size_t k = 0; k < 32; ++k) {
    int code = 0;
    if (kind == PanelKind::kCode8) {
      code = static_cast<std::int8_t>(ByteAt(group + k / 4 * 64 + lane * 4 + k % 4));
    } else {
      code = NibbleAt(group + (nested ? 32 : 0), lane, k);
    }
    if (kind == PanelKind::kCode6Nested) {
      const int pairs = ByteAt(group + 288 + k / 16 * 64 + lane * 4 + k % 4);
      code += (pairs >> (2 * (k / 4 % 4)) & 3) * 16 - 32;
    } else if (kind == PanelKind::kCode4) {
      code -= 8;
    }
    weights.codes[k] = static_cast<float>(code);
  }
  switch (kind) {
    case PanelKind::kCode4:
    case PanelKind::kCode4Minimum:
      weights.scales[0] = HalfAt(group + 256 + 2 * lane);
      weights.minimum = weights.has_minimum ? HalfAt(group + 288 + 2 * lane) : 0.0f;
      break;
    case PanelKind::kCode8:
      weights.scales[0] = HalfAt(group + 512 + 2 * lane);
      break;
    case PanelKind::kCode4Nested:
      weights.scales[0] = HalfAt(header + 2 * lane) * static_cast<float>(ByteAt(group + lane));
      weights.minimum =
          -(HalfAt(header + 32 + 2 * lane) * static_cast<float>(ByteAt(group + 16 + lane)));
      break;
    case PanelKind::kCode6Nested:
      for (std::size_t half = 0; half < 2; ++half) {
        const auto scale = static_cast<std::int8_t>(ByteAt(group + 16 * half + lane));
        weights.scales[half] = HalfAt(header + 2 * lane) * static_cast<float>(scale);
      }
      break;
  }
  return weights;
}

// Sum over `count` products, even ones and odd ones apart.
template <class Factor>
float BlockSum(const float* x, std::size_t count, const Factor& factor) {
  float even = 0.0f;
  float odd = 0.0f;
  for (std::size_t k = 0; k < count; k += 2) {
    even = std::fma(factor(k), x[k], even);
    odd = std::fma(factor(k + 1), x[k + 1], odd);
  }
  return even + odd;
}

float SumOf(const FormRows& rows, std::size_t row, std::size_t g) {
  return rows.sums[(row / kRowTile * rows.groups + g) * kRowTile + row % kRowTile];
}

template <class AddGroup>
void EveryOutput(const FormArgs& args, const AddGroup& add_group) {
  const std::size_t groups = args.rows.groups;
  for (std::size_t output = args.first_panel * kPanelOutputs;
       output < args.last_panel * kPanelOutputs;
       ++output) {
    for (std::size_t row = 0; row < args.rows.rows; ++row) {
      float y = 0.0f;
      for (std::size_t g = 0; g < groups; ++g) {
        const float* x = args.rows.values + row * args.rows.stride + g * 32;
        y = add_group(ReadGroupWeights(args.weights, output, g), x, SumOf(args.rows, row, g), y);
      }
      args.out[row * args.out_stride + output] = y;
    }
  }
}

}  // namespace

void FormG(const FormArgs& args) {
  EveryOutput(args, [](const GroupWeights& group, const float* x, float sum, float y) {
    const std::size_t block = group.scale_inputs;
    for (std::size_t first = 0; first < 32; first += block) {
      const float products =
          BlockSum(x + first, block, [&](std::size_t k) { return group.codes[first + k]; });
      y = std::fma(products, group.scales[first / block], y);
    }
    return group.has_minimum ? std::fma(sum, group.minimum, y) : y;
  });
}

void FormR(const FormArgs& args) {
  EveryOutput(args, [](const GroupWeights& group, const float* x, float, float y) {
    return y + BlockSum(x, 32, [&](std::size_t k) {
             float weight = group.scales[k / group.scale_inputs] * group.codes[k];
             weight = group.has_minimum ? weight + group.minimum : weight;
             return Bf16ToFloat(FloatToBf16(weight));
           });
  });
}

}  // namespace hearth::forms::portable
