// Forms G and R on vectors, written once for AVX2 and AVX-512; `Simd` is that of panel_group_internal.h, and kManyRows
// rows by two vectors of outputs are what its registers hold.
//
// Few rows take the weights straight from the packed group; more rows unpack a chunk of groups into the first-level cache
// once, and as many rows as fit the second-level cache pass over it.
#pragma once

#include <cstddef>

#include "forms/form_kernels.h"
#include "forms/panel_group_internal.h"

namespace hearth::forms {
namespace {

template <class Simd, Form kForm, PanelKind kKind>
class VectorForm {
  using Floats = typename Simd::Floats;

  static constexpr std::size_t kBlock = BlockInputs(kForm, kKind);
  static constexpr std::size_t kBlocks = 32 / kBlock;  // of a group
  static constexpr bool kMinima = kForm == Form::kG && HasMinima(kKind);
  static constexpr std::size_t kFewRows = 3;
  static constexpr std::size_t kVectors = 2;
  static constexpr std::size_t kOutputs = kVectors * Simd::kLanes;
  static constexpr std::size_t kPanels = kOutputs / kPanelOutputs;
  static constexpr std::size_t kChunkGroups = 4;
  static constexpr std::size_t kPassBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMostPassRows = 256;

  // A chunk of groups, unpacked.
  struct Chunk {
    alignas(64) float weights[kChunkGroups * 32][kOutputs];
    alignas(64) float scales[kChunkGroups * kBlocks][kOutputs];
    alignas(64) float minima[kChunkGroups][kOutputs];
  };

 public:
  static void Run(const FormArgs& args) {
    switch (args.rows.rows) {
      case 1:
        return Few<1>(args);
      case 2:
        return Few<2>(args);
      case kFewRows:
        return Few<kFewRows>(args);
      default:
        break;
    }
    const std::size_t fitting = kPassBytes / (args.rows.groups * 32 * sizeof(float));
    const std::size_t rows = fitting < kFewRows        ? kFewRows
                             : fitting < kMostPassRows ? fitting
                                                       : kMostPassRows;
    for (std::size_t row = 0; row < args.rows.rows; row += rows) {
      const std::size_t rest = args.rows.rows - row;
      Pass(args, row, rest < rows ? rest : rows);
    }
  }

 private:
  static float SumOf(const FormRows& rows, std::size_t row, std::size_t g) {
    return rows.sums[(row / kRowTile * rows.groups + g) * kRowTile + row % kRowTile];
  }

  template <std::size_t kInput, class Group>
  static inline __attribute__((always_inline)) Floats WeightOf(const Group& group) {
    if constexpr (kForm == Form::kG) {
      return group.template Code<kInput>();
    } else {
      return Simd::RoundBf16(group.template Weight<kInput>());
    }
  }

  template <std::size_t kRows>
  static void Few(const FormArgs& args) {
    for (std::size_t panel = args.first_panel; panel < args.last_panel; ++panel) {
      for (std::size_t lane = 0; lane < kPanelOutputs; lane += Simd::kLanes) {
        FewOutputs<kRows>(args, panel, lane);
      }
    }
  }

  template <std::size_t kRows>
  static void FewOutputs(const FormArgs& args, std::size_t panel, std::size_t lane) {
    const FormRows& x = args.rows;
    const std::byte* packed = args.weights.data + panel * PanelBytes(kKind, x.groups);
    Floats y[kRows];
    for (std::size_t row = 0; row < kRows; ++row) {
      y[row] = Simd::Set(0.0f);
    }
    for (std::size_t g = 0; g < x.groups; ++g) {
      const GroupPlace place = PlaceOfGroup<kKind>(packed, g);
      PrefetchBehind<kKind>(place.group);
      const PanelGroup<Simd, kKind> group(place.header, place.group, lane);
      const float* values = x.values + g * 32;
      ForEach<kBlocks>([&]<std::size_t kIndex>() __attribute__((always_inline)) {
        Floats even[kRows], odd[kRows];
        for (std::size_t row = 0; row < kRows; ++row) {
          even[row] = odd[row] = Simd::Set(0.0f);
        }
        ForEach<kBlock / 2>([&]<std::size_t kPair>() __attribute__((always_inline)) {
          constexpr std::size_t kInput = kIndex * kBlock + 2 * kPair;
          const Floats first = WeightOf<kInput>(group);
          const Floats second = WeightOf<kInput + 1>(group);
          for (std::size_t row = 0; row < kRows; ++row) {
            const float* at = values + row * x.stride + kInput;
            even[row] = Simd::Fma(first, Simd::Set(at[0]), even[row]);
            odd[row] = Simd::Fma(second, Simd::Set(at[1]), odd[row]);
          }
        });
        for (std::size_t row = 0; row < kRows; ++row) {
          const Floats sum = Simd::Add(even[row], odd[row]);
          if constexpr (kForm == Form::kR) {
            y[row] = Simd::Add(y[row], sum);
          } else {
            y[row] = Simd::Fma(sum, group.scale(kIndex), y[row]);
          }
          if constexpr (kMinima) {
            y[row] = Simd::Fma(Simd::Set(SumOf(x, row, g)), group.minimum(), y[row]);
          }
        }
      });
    }
    for (std::size_t row = 0; row < kRows; ++row) {
      Simd::StoreFloats(args.out + row * args.out_stride + panel * kPanelOutputs + lane, y[row]);
    }
  }

  static void Unpack(const std::byte* packed, std::size_t groups, std::size_t first, Chunk& chunk) {
    for (std::size_t g = 0; g < kChunkGroups; ++g) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        const std::size_t output = v * Simd::kLanes;
        const std::byte* panel = packed + output / kPanelOutputs * PanelBytes(kKind, groups);
        const GroupPlace place = PlaceOfGroup<kKind>(panel, first + g);
        PrefetchBehind<kKind>(place.group);
        const PanelGroup<Simd, kKind> group(place.header, place.group, output % kPanelOutputs);
        ForEach<32>([&]<std::size_t kInput>() __attribute__((always_inline)) {
          Simd::StoreFloats(&chunk.weights[g * 32 + kInput][output], WeightOf<kInput>(group));
        });
        if constexpr (kForm == Form::kG) {
          for (std::size_t i = 0; i < kBlocks; ++i) {
            Simd::StoreFloats(&chunk.scales[g * kBlocks + i][output], group.scale(i));
          }
        }
        if constexpr (kMinima) {
          Simd::StoreFloats(&chunk.minima[g][output], group.minimum());
        }
      }
    }
  }

  // Adds groups first .. first + kChunkGroups - 1 of rows row .. row + kRows - 1 to y.
  template <std::size_t kRows>
  static void AddChunk(
      const FormRows& x,
      std::size_t row,
      std::size_t first,
      const Chunk& chunk,
      float (*y)[kOutputs]
  ) {
    const float* values = x.values + row * x.stride + first * 32;
    for (std::size_t block = 0; block < kChunkGroups * kBlocks; ++block) {
      Floats even[kRows][kVectors], odd[kRows][kVectors];
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t v = 0; v < kVectors; ++v) {
          even[r][v] = odd[r][v] = Simd::Set(0.0f);
        }
      }
      for (std::size_t k = block * kBlock; k < (block + 1) * kBlock; k += 2) {
        for (std::size_t v = 0; v < kVectors; ++v) {
          const Floats first_weights = Simd::LoadFloats(&chunk.weights[k][v * Simd::kLanes]);
          const Floats second_weights = Simd::LoadFloats(&chunk.weights[k + 1][v * Simd::kLanes]);
          for (std::size_t r = 0; r < kRows; ++r) {
            const float* at = values + r * x.stride + k;
            even[r][v] = Simd::Fma(first_weights, Simd::Set(at[0]), even[r][v]);
            odd[r][v] = Simd::Fma(second_weights, Simd::Set(at[1]), odd[r][v]);
          }
        }
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t v = 0; v < kVectors; ++v) {
          float* to = &y[r][v * Simd::kLanes];
          const Floats sum = Simd::Add(even[r][v], odd[r][v]);
          Floats total = Simd::LoadFloats(to);
          if constexpr (kForm == Form::kR) {
            total = Simd::Add(total, sum);
          } else {
            total = Simd::Fma(sum, Simd::LoadFloats(&chunk.scales[block][v * Simd::kLanes]), total);
          }
          if constexpr (kMinima) {
            total = Simd::Fma(
                Simd::Set(SumOf(x, row + r, first + block)),
                Simd::LoadFloats(&chunk.minima[block][v * Simd::kLanes]),
                total
            );
          }
          Simd::StoreFloats(to, total);
        }
      }
    }
  }

  static void Pass(const FormArgs& args, std::size_t first_row, std::size_t rows) {
    const FormRows& x = args.rows;
    Chunk chunk;
    alignas(64) float y[kMostPassRows][kOutputs];
    for (std::size_t panel = args.first_panel; panel < args.last_panel; panel += kPanels) {
      const std::byte* packed = args.weights.data + panel * PanelBytes(kKind, x.groups);
      __builtin_memset(y, 0, rows * sizeof y[0]);
      for (std::size_t g = 0; g < x.groups; g += kChunkGroups) {
        Unpack(packed, x.groups, g, chunk);
        std::size_t row = 0;
        for (; row + Simd::kManyRows <= rows; row += Simd::kManyRows) {
          AddChunk<Simd::kManyRows>(x, first_row + row, g, chunk, y + row);
        }
        for (; row + 2 <= rows; row += 2) {
          AddChunk<2>(x, first_row + row, g, chunk, y + row);
        }
        if (row < rows) {
          AddChunk<1>(x, first_row + row, g, chunk, y + row);
        }
      }
      for (std::size_t row = 0; row < rows; ++row) {
        float* out = args.out + (first_row + row) * args.out_stride + panel * kPanelOutputs;
        for (std::size_t v = 0; v < kVectors; ++v) {
          Simd::StoreFloats(out + v * Simd::kLanes, Simd::LoadFloats(&y[row][v * Simd::kLanes]));
        }
      }
    }
  }
};

template <class Simd, Form kForm>
void RunVectorForm(const FormArgs& args) {
  ForKind(args.weights.kind, [&]<PanelKind kKind>() { VectorForm<Simd, kForm, kKind>::Run(args); });
}

}  // namespace
}  // namespace hearth::forms
