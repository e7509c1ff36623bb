// The laboratory for the form of quantized products: three forms, side by side. README.md says what they are.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>

#include "forms/forms_kl.h"
#include "forms/forms_timing.h"
#include "hearth/error.h"
#include "platform/usable_cores.h"

namespace hearth::forms {
namespace {

struct Options {
  int threads = UsableCores();
  int rounds = 5;
  bool quick = false;
  bool json = false;
  std::string kl_model;
};

constexpr const char* kForms[] = {"I", "G", "R"};

// Nanoseconds that one core takes for 16 rows, 16 outputs and 32 inputs.
double BlockNanoseconds(
    double seconds, std::size_t rows, const TimingOptions& options, int threads
) {
  const double blocks = static_cast<double>(options.outputs / 16 * (options.inputs / 32)) *
                        static_cast<double>(rows) / 16;
  return seconds * 1e9 * threads / blocks;
}

nlohmann::json ToJson(const Probes& probes) {
  return {
      {"read_bytes_per_second", probes.read_bytes},
      {"int8_tile_operations_per_second", probes.int8_products},
      {"bf16_tile_operations_per_second", probes.bf16_products}
  };
}

nlohmann::json ToJson(const Timing& timing, const TimingOptions& options, int threads) {
  return {
      {"format", ElementTypeName(timing.format)},
      {"isa", IsaName(timing.isa)},
      {"rows", timing.rows},
      {"form", timing.form},
      {"seconds",
       {{"median", timing.seconds.median},
        {"min", timing.seconds.least},
        {"max", timing.seconds.most}}},
      {"ns_per_block", BlockNanoseconds(timing.seconds.median, timing.rows, options, threads)},
      {"weight_bytes_per_second", static_cast<double>(timing.weight_bytes) / timing.seconds.median}
  };
}

void PrintProbes(const char* when, const Probes& probes) {
  fmt::print("Plain read {} {:.1f} GB/s", when, probes.read_bytes / 1e9);
  if (probes.int8_products > 0) {
    fmt::print(
        ", tiles {:.2f} TOP/s int8 and {:.2f} TFLOP/s bfloat16",
        probes.int8_products / 1e12,
        probes.bf16_products / 1e12
    );
  }
  fmt::print(".\n");
}

// One cell: the median, and the least and the most of the rounds.
std::string Cell(const Timing& timing, const TimingOptions& options, int threads) {
  const auto value = [&](double seconds) {
    return timing.rows == 1 ? static_cast<double>(timing.weight_bytes) / seconds / 1e9
                            : BlockNanoseconds(seconds, timing.rows, options, threads);
  };
  const double one = value(timing.seconds.least);
  const double other = value(timing.seconds.most);
  return fmt::format(
      "{:.1f} ({:.1f} to {:.1f})",
      value(timing.seconds.median),
      std::min(one, other),
      std::max(one, other)
  );
}

void PrintTimings(const std::vector<Timing>& timings, const TimingOptions& options, int threads) {
  for (const Isa isa : kIsas) {
    if (!IsAttainable(isa)) {
      fmt::print("\n{}: skipped, this build or machine lacks it\n", IsaName(isa));
      continue;
    }
    fmt::print(
        "\n| {} | rows | unit | I | G | R |\n| --- | --- | --- | --- | --- | --- |\n", IsaName(isa)
    );
    for (const ElementType format : kFormats) {
      for (const std::size_t rows : kRowCounts) {
        fmt::print(
            "| {} | {} | {} |", ElementTypeName(format), rows, rows == 1 ? "GB/s" : "ns a block"
        );
        for (const char* form : kForms) {
          for (const Timing& timing : timings) {
            if (timing.isa == isa && timing.format == format && timing.rows == rows &&
                timing.form == form) {
              fmt::print(" {} |", Cell(timing, options, threads));
            }
          }
        }
        fmt::print("\n");
      }
    }
  }
}

void Time(const Options& options) {
  WorkerTeam team(options.threads);
  const std::size_t compared = CheckForms(team);
  TimingOptions sizes{.rounds = options.rounds};
  if (options.quick) {
    sizes = {.outputs = 512, .inputs = 512, .bytes = std::size_t{8} << 20, .rounds = 1};
  }
  const Probes before = ProbeMachine(team, sizes.bytes);
  const std::vector<Timing> timings = TimeForms(team, sizes, [&] {
    if (!options.json) {
      fmt::print(stderr, ".");
    }
  });
  const Probes after = ProbeMachine(team, sizes.bytes);
  if (options.json) {
    nlohmann::json results = nlohmann::json::array();
    for (const Timing& timing : timings) {
      results.push_back(ToJson(timing, sizes, options.threads));
    }
    nlohmann::json skipped = nlohmann::json::array();
    for (const Isa isa : kIsas) {
      if (!IsAttainable(isa)) {
        skipped.push_back(IsaName(isa));
      }
    }
    const nlohmann::json document{
        {"machine", CpuModelName()},
        {"threads", options.threads},
        {"outputs", sizes.outputs},
        {"inputs", sizes.inputs},
        {"rounds", sizes.rounds},
        {"results_equal_in_every_bit", compared},
        {"probe_before", ToJson(before)},
        {"probe_after", ToJson(after)},
        {"skipped", skipped},
        {"timings", results}
    };
    fmt::print("{}\n", document.dump(2));
    return;
  }
  fmt::print(stderr, "\n");
  fmt::print(
      "{}, {} threads, {} outputs of {} inputs, medians of {} rounds (least to most).\n",
      CpuModelName(),
      options.threads,
      sizes.outputs,
      sizes.inputs,
      sizes.rounds
  );
  fmt::print("{} results are equal in every bit to the portable ones.\n", compared);
  PrintProbes("before", before);
  PrintProbes("after", after);
  fmt::print(
      "One row: GB/s of weights, more is better. Rows above: ns that a core takes for 16 rows x 16 "
      "outputs x 32 inputs, "
      "less is better.\n"
  );
  PrintTimings(timings, sizes, options.threads);
}

void Compare(const Options& options) {
  WorkerTeam team(options.threads);
  const Distances distances = MeasureForms(team, options.kl_model);
  if (options.json) {
    nlohmann::json forms = nlohmann::json::array();
    for (const FormDistance& distance : distances.forms) {
      forms.push_back({{"form", distance.form}, {"kl", distance.kl}});
    }
    const nlohmann::json document{
        {"model", options.kl_model},
        {"prompts", distances.prompts},
        {"positions", distances.positions},
        {"llama.cpp", distances.peer_kl},
        {"kl", forms}
    };
    fmt::print("{}\n", document.dump(2));
    return;
  }
  fmt::print(
      "{}: {} prompts, {} positions; KL(f32 || form) over the whole vocabulary, nats.\n"
      "Simulated: activations (and weights, in R) are rounded as the form rounds them, linear "
      "layers then computed in "
      "float32; attention is the default numerics' in every line.\n\n"
      "| linear layers | mean KL |\n| --- | --- |\n",
      options.kl_model,
      distances.prompts,
      distances.positions
  );
  for (const FormDistance& distance : distances.forms) {
    fmt::print("| {} | {:.2e} |\n", distance.form, distance.kl);
  }
  fmt::print("| llama.cpp as a whole, from the fixtures | {:.2e} |\n", distances.peer_kl);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Three forms of the quantized product: speed on this machine, distance from float32."
  );
  app.add_option("--threads", options.threads, "threads; all usable cores unless given")
      ->check(CLI::Range(1, WorkerTeam::kMostMembers));
  app.add_option(
         "--rounds", options.rounds, "timed rounds, in each of which every form takes its turn"
  )
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag(
      "--quick", options.quick, "small sizes and one round: shows that it works, not how fast"
  );
  app.add_flag("--json", options.json, "print JSON instead of Markdown");
  app.add_option(
      "--kl", options.kl_model, "measure distances on this model (name or path) instead of speed"
  );
  CLI11_PARSE(app, argc, argv);
  try {
    options.kl_model.empty() ? Time(options) : Compare(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "forms_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace hearth::forms

int main(int argc, char** argv) {
  return hearth::forms::Main(argc, argv);
}
