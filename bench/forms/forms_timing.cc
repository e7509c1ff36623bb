#include "forms/forms_timing.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <variant>

#include "forms/form_rows.h"
#include "hearth/error.h"
#include "kernels/kernels.h"
#include "kernels/quantized_rows_buffer.h"
#include "platform/read_probe.h"
#include "tensor/packed_matrix.h"

namespace hearth::forms {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Randomness {
 public:
  explicit Randomness(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// Where the blocks of a format keep float16 numbers; -1 for none.
struct HalfPlaces {
  int scale;
  int minimum;
};

HalfPlaces HalvesOf(ElementType format) {
  switch (format) {
    case ElementType::kQ4_1:
    case ElementType::kQ4_K:
      return {0, 2};
    case ElementType::kQ6_K:
      return {208, -1};
    default:
      return {0, -1};
  }
}

// A matrix of random codes under scales of 2^-7 to 2^-6 and both signs.
PackedMatrix RandomMatrix(
    ElementType format, std::size_t outputs, std::size_t inputs, WorkerTeam& team
) {
  const BlockLayout layout = LayoutOf(format);
  std::vector<std::byte> blocks(outputs * inputs / layout.values * layout.bytes);
  Randomness random(1);
  for (std::size_t at = 0; at < blocks.size(); at += 8) {
    const std::uint64_t bits = random.Next();
    std::memcpy(blocks.data() + at, &bits, std::min<std::size_t>(8, blocks.size() - at));
  }
  for (std::size_t at = 0; at < blocks.size(); at += layout.bytes) {
    for (const int place : {HalvesOf(format).scale, HalvesOf(format).minimum}) {
      if (place >= 0) {
        const auto half = static_cast<std::uint16_t>(0x2000u | (random.Next() & 0x83ffu));
        std::memcpy(blocks.data() + at + place, &half, sizeof half);
      }
    }
  }
  return PackedMatrix({"random", format, outputs, inputs, blocks}, Numerics::kDefault, team);
}

// Rows of random values, as each form wants them.
class Rows {
 public:
  Rows(std::size_t rows, std::size_t inputs, const Kernels& kernels, WorkerTeam& team)
      : values_(RandomValues(rows * inputs)), rounded_(values_, rows, inputs / kGroupInputs) {
    quantized_.Reserve(rows, inputs / kGroupInputs);
    team.ForRanges(rows, 1, [&](std::size_t begin, std::size_t end, int) {
      kernels.quantize_rows({values_.data(), inputs, begin, end, quantized_.Out()});
    });
  }

  FormRows rounded() const { return rounded_.View(); }

  QuantizedRows quantized() const { return quantized_.View(); }

 private:
  static std::vector<float> RandomValues(std::size_t count) {
    std::vector<float> values(count);
    Randomness random(2);
    for (float& value : values) {
      value = static_cast<float>(static_cast<std::int64_t>(random.Next())) * 0x1p-62f;
    }
    return values;
  }

  std::vector<float> values_;
  FormRowsBuffer rounded_;
  QuantizedRowsBuffer quantized_;
};

// One form on one instruction set: a product of `rows` with panels first .. last - 1 of `weights`.
struct Candidate {
  std::string form;
  std::function<void(
      const QuantizedPanels& weights,
      const Rows& rows,
      std::size_t first,
      std::size_t last,
      float* out,
      std::size_t stride
  )>
      run;
};

Candidate RoundedForm(const char* name, FormKernel kernel) {
  return {
      name,
      [kernel](
          const auto& weights, const Rows& rows, auto first, auto last, float* out, auto stride
      ) { kernel({weights, rows.rounded(), first, last, out, stride}); }
  };
}

std::vector<Candidate> CandidatesFor(Isa isa) {
  const auto integer = KernelsFor(isa).matmul_quantized;
  const FormPair pair = FormKernelsFor(isa).value();
  return {
      {"I",
       [integer](
           const auto& weights, const Rows& rows, auto first, auto last, float* out, auto stride
       ) {
         const QuantizedRows x = rows.quantized();
         integer({weights, x, 0, x.rows, first, last, false, out, stride});
       }},
      RoundedForm("G", pair.g),
      RoundedForm("R", pair.r),
  };
}

QuantizedPanels PanelsOf(const PackedMatrix& matrix) {
  return std::get<QuantizedPanels>(matrix.panels());
}

// The panels of one matrix split over the team, always in pairs.
void RunSplit(
    WorkerTeam& team,
    const Candidate& candidate,
    const QuantizedPanels& weights,
    const Rows& rows,
    float* out
) {
  const std::size_t pairs = weights.outputs / (2 * kPanelOutputs);
  team.ForRanges(pairs, 1, [&](std::size_t begin, std::size_t end, int) {
    candidate.run(weights, rows, 2 * begin, 2 * end, out, weights.outputs);
  });
}

Spread SpreadOf(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

// How many copies of the weights a measurement goes through: enough to be long, all for one row.
std::size_t CopiesFor(std::size_t rows, std::size_t copies) {
  return rows == 1 ? copies : std::clamp<std::size_t>(64 / rows, 1, copies);
}

}  // namespace

bool IsAttainable(Isa isa) {
  return std::ranges::count(AttainableIsas(), isa) != 0;
}

std::size_t CheckForms(WorkerTeam& team) {
  constexpr std::size_t kOutputs = 96;
  constexpr std::size_t kInputs = 768;
  std::size_t compared = 0;
  for (const ElementType format : kFormats) {
    const PackedMatrix matrix = RandomMatrix(format, kOutputs, kInputs, team);
    for (const std::size_t count : {1u, 2u, 3u, 5u, 8u, 18u, 33u}) {
      const Rows rows(count, kInputs, KernelsFor(Isa::kPortable), team);
      std::vector<std::vector<float>> expected;
      for (const Candidate& candidate : CandidatesFor(Isa::kPortable)) {
        expected.emplace_back(count * kOutputs);
        RunSplit(team, candidate, PanelsOf(matrix), rows, expected.back().data());
      }
      for (const Isa isa : kIsas) {
        if (!IsAttainable(isa)) {
          continue;
        }
        const std::vector<Candidate> candidates = CandidatesFor(isa);
        for (std::size_t i = 0; i < candidates.size(); ++i) {
          std::vector<float> got(count * kOutputs);
          RunSplit(team, candidates[i], PanelsOf(matrix), rows, got.data());
          if (std::memcmp(got.data(), expected[i].data(), got.size() * sizeof(float)) != 0) {
            throw Error(
                ErrorCode::kInternal,
                fmt::format(
                    "form {} of {} on {}, {} rows: other bits than the portable one",
                    candidates[i].form,
                    ElementTypeName(format),
                    IsaName(isa),
                    count
                )
            );
          }
          compared += got.size();
        }
      }
    }
  }
  return compared;
}

std::vector<Timing> TimeForms(
    WorkerTeam& team, const TimingOptions& options, const std::function<void()>& done
) {
  std::vector<Timing> timings;
  const std::size_t most_rows = *std::ranges::max_element(kRowCounts);
  AlignedBuffer<float> out(most_rows * options.outputs);
  for (const ElementType format : kFormats) {
    const PackedMatrix matrix = RandomMatrix(format, options.outputs, options.inputs, team);
    const std::size_t copies = std::max<std::size_t>(1, options.bytes / matrix.bytes());
    AlignedBuffer<std::byte> memory(copies * matrix.bytes());
    std::vector<QuantizedPanels> weights(copies, PanelsOf(matrix));
    for (std::size_t copy = 0; copy < copies; ++copy) {
      weights[copy].data = memory.data() + copy * matrix.bytes();
      std::memcpy(memory.data() + copy * matrix.bytes(), PanelsOf(matrix).data, matrix.bytes());
    }
    for (const Isa isa : kIsas) {
      if (!IsAttainable(isa)) {
        continue;
      }
      const std::vector<Candidate> candidates = CandidatesFor(isa);
      for (const std::size_t count : kRowCounts) {
        const Rows rows(count, options.inputs, KernelsFor(isa), team);
        const std::size_t used = CopiesFor(count, copies);
        std::vector<std::vector<double>> seconds(candidates.size());
        std::size_t next = 0;
        for (int round = 0; round <= options.rounds; ++round) {
          for (std::size_t i = 0; i < candidates.size(); ++i) {
            const Clock::time_point start = Clock::now();
            for (std::size_t copy = 0; copy < used; ++copy, next = (next + 1) % copies) {
              RunSplit(team, candidates[i], weights[next], rows, out.data());
            }
            if (round > 0) {  // the first warms up
              seconds[i].push_back(Seconds(start) / static_cast<double>(used));
            }
          }
        }
        for (std::size_t i = 0; i < candidates.size(); ++i) {
          timings.push_back(
              {format, isa, count, candidates[i].form, matrix.bytes(), SpreadOf(seconds[i])}
          );
        }
      }
    }
    done();
  }
  return timings;
}

Probes ProbeMachine(WorkerTeam& team, std::size_t bytes) {
  Probes probes{ProbePlainRead(team, bytes, 3), 0, 0};
#if defined(__x86_64__) && !defined(HEARTH_PORTABLE_ONLY)
  if (IsAttainable(Isa::kAmx)) {
    constexpr std::size_t kCount = 400'000;
    const auto rate = [&](void (*products)(std::size_t), double inputs) {
      double best = 0;
      for (int pass = 0; pass < 3; ++pass) {
        const Clock::time_point start = Clock::now();
        team.Run([&](int) { products(kCount); });
        const double operations = 2 * 16 * 16 * inputs * 4 * double{kCount} * team.members();
        best = std::max(best, operations / Seconds(start));
      }
      return best;
    };
    probes.int8_products = rate(amx::ProbeByteProducts, 64);
    probes.bf16_products = rate(amx::ProbeBfloat16Products, 32);
  }
#endif
  return probes;
}

}  // namespace hearth::forms
