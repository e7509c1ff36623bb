#include "kernels/matmul_quantized.h"

#include <algorithm>
#include <cmath>

#include "kernels/half.h"
#include "kernels/portable/load.h"

namespace hearth::portable {
namespace {

constexpr std::size_t kTileRows = 4;
constexpr std::size_t kHalfInputs = kGroupInputs / 2;

float LoadHalf(const std::byte* at) {
  return HalfToFloat(Load<std::uint16_t>(at));
}

// One group of one panel, taken apart.
struct Group {
  std::int32_t codes[kGroupInputs][kPanelOutputs];  // code - zero
  float scale[kPanelOutputs];
  float minimum[kPanelOutputs];               // kinds with minima
  std::int32_t half_scale[2][kPanelOutputs];  // kCode6Nested
};

void ReadNibbles(const std::byte* packed, std::int32_t zero, Group& group) {
  for (std::size_t i = 0; i < kHalfInputs; ++i) {
    for (std::size_t output = 0; output < kPanelOutputs; ++output) {
      const auto byte = static_cast<std::int32_t>(packed[i / 4 * 64 + output * 4 + i % 4]);
      group.codes[i][output] = (byte & 0xf) - zero;
      group.codes[i + kHalfInputs][output] = (byte >> 4) - zero;
    }
  }
}

void AddPairs(const std::byte* packed, Group& group) {
  for (std::size_t i = 0; i < kGroupInputs; ++i) {
    for (std::size_t output = 0; output < kPanelOutputs; ++output) {
      const auto byte = static_cast<std::int32_t>(packed[i / 16 * 64 + output * 4 + i % 4]);
      group.codes[i][output] += (byte >> (2 * (i / 4 % 4)) & 3) << 4;
    }
  }
}

void ReadHalves(const std::byte* packed, float* values) {
  for (std::size_t output = 0; output < kPanelOutputs; ++output) {
    values[output] = LoadHalf(packed + 2 * output);
  }
}

void ReadGroup(PanelKind kind, const std::byte* header, const std::byte* packed, Group& group) {
  switch (kind) {
    case PanelKind::kCode4:
      ReadNibbles(packed, 8, group);
      return ReadHalves(packed + 256, group.scale);
    case PanelKind::kCode4Minimum:
      ReadNibbles(packed, 0, group);
      ReadHalves(packed + 256, group.scale);
      return ReadHalves(packed + 288, group.minimum);
    case PanelKind::kCode8:
      for (std::size_t i = 0; i < kGroupInputs; ++i) {
        for (std::size_t output = 0; output < kPanelOutputs; ++output) {
          group.codes[i][output] =
              static_cast<std::int8_t>(packed[i / 4 * 64 + output * 4 + i % 4]);
        }
      }
      return ReadHalves(packed + 512, group.scale);
    case PanelKind::kCode4Nested:
      ReadNibbles(packed + 32, 0, group);
      for (std::size_t output = 0; output < kPanelOutputs; ++output) {
        const auto scale = static_cast<float>(static_cast<std::uint8_t>(packed[output]));
        const auto minimum = static_cast<float>(static_cast<std::uint8_t>(packed[16 + output]));
        group.scale[output] = LoadHalf(header + 2 * output) * scale;
        group.minimum[output] = -(LoadHalf(header + 32 + 2 * output) * minimum);
      }
      return;
    case PanelKind::kCode6Nested:
      ReadNibbles(packed + 32, 32, group);
      AddPairs(packed + 288, group);
      for (std::size_t output = 0; output < kPanelOutputs; ++output) {
        group.half_scale[0][output] = static_cast<std::int8_t>(packed[output]);
        group.half_scale[1][output] = static_cast<std::int8_t>(packed[16 + output]);
      }
      return;
  }
}

// Sums of code times activation over `count` inputs from `first` on, for every output.
void Dot(
    const Group& group,
    const std::int8_t* planes,
    std::size_t first,
    std::size_t count,
    std::int32_t* sums
) {
  std::fill_n(sums, kPanelOutputs, 0);
  for (std::size_t i = first; i < first + count; ++i) {
    const std::int32_t a = planes[i] * 16 + planes[kGroupInputs + i];
    for (std::size_t output = 0; output < kPanelOutputs; ++output) {
      sums[output] += group.codes[i][output] * a;
    }
  }
}

// What a segment of one row gathers.
struct Partial {
  float p[kPanelOutputs];
  std::int32_t nested[kPanelOutputs];
};

void Gather(
    PanelKind kind, const Group& group, const std::int8_t* planes, float sum, Partial& out
) {
  std::int32_t dots[kPanelOutputs];
  if (kind == PanelKind::kCode6Nested) {
    for (std::size_t half = 0; half < 2; ++half) {
      Dot(group, planes, half * kHalfInputs, kHalfInputs, dots);
      for (std::size_t output = 0; output < kPanelOutputs; ++output) {
        out.nested[output] += group.half_scale[half][output] * dots[output];
      }
    }
    return;
  }
  const bool minima = kind == PanelKind::kCode4Minimum || kind == PanelKind::kCode4Nested;
  Dot(group, planes, 0, kGroupInputs, dots);
  for (std::size_t output = 0; output < kPanelOutputs; ++output) {
    out.p[output] = std::fma(static_cast<float>(dots[output]), group.scale[output], out.p[output]);
    if (minima) {
      out.p[output] = std::fma(sum, group.minimum[output], out.p[output]);
    }
  }
}

// Rows first .. first + count - 1 against one panel.
void RowsOfPanel(
    const MatmulQuantizedArgs& args, std::size_t panel, std::size_t first, std::size_t count
) {
  const PanelKind kind = args.weights.kind;
  const std::size_t groups = args.weights.groups;
  const std::size_t segments = SegmentCount(groups);
  const std::byte* packed = args.weights.data + panel * PanelBytes(kind, groups);
  float y[kTileRows][kPanelOutputs] = {};
  Group group;
  for (std::size_t s = 0; s < segments; ++s) {
    Partial partial[kTileRows] = {};
    const std::byte* header = packed;
    packed += HeaderBytes(kind);
    const std::size_t last = std::min(groups, (s + 1) * kSegmentGroups);
    for (std::size_t g = s * kSegmentGroups; g < last; ++g, packed += GroupBytes(kind)) {
      ReadGroup(kind, header, packed, group);
      for (std::size_t row = 0; row < count; ++row) {
        const std::size_t at = PlaceOf(first + row, args.rows.rows).At(g, groups);
        Gather(
            kind, group, args.rows.planes + at * 2 * kGroupInputs, args.rows.sum[at], partial[row]
        );
      }
    }
    for (std::size_t row = 0; row < count; ++row) {
      const RowPlace place = PlaceOf(first + row, args.rows.rows);
      const float factor = args.rows.factor[place.At(s, segments)];
      for (std::size_t output = 0; output < kPanelOutputs; ++output) {
        const float p =
            kind == PanelKind::kCode6Nested
                ? static_cast<float>(partial[row].nested[output]) * LoadHalf(header + 2 * output)
                : partial[row].p[output];
        y[row][output] = std::fma(p, factor, y[row][output]);
      }
    }
  }
  const std::size_t outputs = std::min(kPanelOutputs, args.weights.outputs - panel * kPanelOutputs);
  for (std::size_t row = 0; row < count; ++row) {
    float* out = args.out + (first + row) * args.out_stride + panel * kPanelOutputs;
    for (std::size_t output = 0; output < outputs; ++output) {
      out[output] = args.add ? out[output] + y[row][output] : y[row][output];
    }
  }
}

}  // namespace

void MatmulQuantized(const MatmulQuantizedArgs& args) {
  for (std::size_t panel = args.first_panel; panel < args.last_panel; ++panel) {
    for (std::size_t row = args.first_row; row < args.last_row; row += kTileRows) {
      RowsOfPanel(args, panel, row, std::min(kTileRows, args.last_row - row));
    }
  }
}

}  // namespace hearth::portable
