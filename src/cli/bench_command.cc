#include "cli/bench_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "hearth/error.h"
#include "library/loaded_model.h"
#include "platform/peak_memory.h"
#include "platform/read_probe.h"
#include "sampling/sample_rows.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kProbeBytes = std::size_t{256} << 20;
constexpr std::size_t kPrefillTokens = 512;  // prompt tokens of one forward

double Seconds(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Tokens per second of one run.
struct Speed {
  double prefill;
  double decode;
};

struct Spread {
  double median;
  double least;
  double most;
};

Spread SpreadOf(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

nlohmann::json ToJson(const Spread& spread) {
  return {{"median", spread.median}, {"min", spread.least}, {"max", spread.most}};
}

std::vector<std::vector<TokenId>> Prompts(
    const BenchOptions& options, std::size_t rows, std::size_t vocabulary
) {
  std::vector<std::vector<TokenId>> prompts(rows);
  std::uint64_t state = 1;
  for (std::vector<TokenId>& prompt : prompts) {
    for (std::size_t i = 0; i < options.prompt; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      prompt.push_back(static_cast<TokenId>((state >> 33) % vocabulary));
    }
  }
  return prompts;
}

Speed RunOnce(LoadedModel& loaded, PagePool& pool, const BenchOptions& options, std::size_t rows) {
  LanguageModel& model = loaded.model();
  const SamplingKernels kernels = SamplingKernelsFor(loaded.isa());
  const std::size_t vocabulary = model.facts().vocabulary;
  std::vector<std::vector<TokenId>> histories = Prompts(options, rows, vocabulary);
  std::vector<KvSequence> sequences;
  std::vector<Sampler> samplers;
  for (std::size_t row = 0; row < rows; ++row) {
    sequences.emplace_back(pool);
    samplers.emplace_back(SamplingParameters{}, row, SamplerVocabulary{vocabulary}, kernels);
  }
  std::vector<float> logits(rows * vocabulary);
  // Samples rows first .. end - 1.
  const auto sample = [&](std::size_t first, std::size_t end, std::size_t step) {
    std::vector<SampleRow> batch;
    for (std::size_t row = first; row < end; ++row) {
      const std::span<float> scores = std::span(logits).subspan(row * vocabulary, vocabulary);
      batch.push_back({&samplers[row], scores, histories[row], step});
    }
    const std::vector<RowOutcome> outcomes = SampleRows(batch, loaded.team());
    for (std::size_t row = first; row < end; ++row) {
      const RowOutcome& outcome = outcomes[row - first];
      if (outcome.error) {
        std::rethrow_exception(outcome.error);
      }
      histories[row].push_back(outcome.sampled.token);
    }
  };
  const auto feed = [&](std::size_t row, std::size_t count) {
    const std::span<const TokenId> fed =
        std::span(histories[row]).subspan(sequences[row].length(), count);
    return ForwardRow{&sequences[row], fed, LogitSelection::kLast};
  };

  const Clock::time_point start = Clock::now();
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t left = options.prompt; left > 0;) {
      const std::size_t count = std::min(left, kPrefillTokens);
      const ForwardRow chunk = feed(row, count);
      model.Forward({&chunk, 1}, logits.data() + row * vocabulary);
      left -= count;
    }
    sample(row, row + 1, 0);
  }
  const double prefill = Seconds(start);

  const Clock::time_point decode_start = Clock::now();
  for (std::size_t step = 1; step < options.gen; ++step) {
    std::vector<ForwardRow> batch;
    batch.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      batch.push_back(feed(row, 1));
    }
    model.Forward(batch, logits.data());
    sample(0, rows, step);
  }
  const double decode = Seconds(decode_start);
  const auto count = static_cast<double>(rows);
  return {
      count * static_cast<double>(options.prompt) / prefill,
      options.gen > 1 ? count * static_cast<double>(options.gen - 1) / decode : 0,
  };
}

std::size_t PagesOfRow(const BenchOptions& options) {
  return (options.prompt + options.gen + kPageTokens - 1) / kPageTokens;
}

void Check(const BenchOptions& options, const LoadedModel& loaded) {
  const ModelFacts& facts = loaded.model().facts();
  const auto refuse = [](const std::string& message) {
    throw Error(ErrorCode::kInvalidArgument, "bench: " + message);
  };
  if (options.prompt == 0 || options.gen == 0 || options.repeat < 1 || options.rows.empty()) {
    refuse("--prompt, --gen, --rows and --repeat want numbers from 1");
  }
  if (options.gen > facts.context_length || options.prompt > facts.context_length - options.gen) {
    refuse(
        fmt::format(
            "--prompt and --gen make {} tokens, the model's context has {}",
            options.prompt + options.gen,
            facts.context_length
        )
    );
  }
  if (std::ranges::find(options.rows, 0u) != options.rows.end() ||
      *std::ranges::max_element(options.rows) > 1024) {
    refuse("--rows wants numbers from 1 to 1024");
  }
  const std::size_t most_rows = *std::ranges::max_element(options.rows);
  const StepSizes steps{.batch = most_rows, .step_tokens = 1, .prefill_tokens = kPrefillTokens};
  const std::string why_not =
      loaded.PlanFor(steps, kProbeBytes).WhyNot(most_rows, options.prompt + options.gen);
  if (!why_not.empty()) {
    refuse("--rows of --prompt and --gen do not fit into memory: " + why_not);
  }
}

}  // namespace

int RunBench(const BenchOptions& options) {
  LoadedModel loaded(options.engine);
  const ModelFacts& facts = loaded.model().facts();
  Check(options, loaded);
  const std::size_t most_rows = *std::ranges::max_element(options.rows);
  PagePool pool(facts.kv, most_rows * PagesOfRow(options));

  nlohmann::json result = {
      {"model", loaded.file().name()},
      {"parameters", facts.parameters},
      {"weight_bytes", facts.weight_bytes},
      {"numerics", NumericsName(facts.numerics)},
      {"isa", IsaName(loaded.isa())},
      {"cpu", CpuModelName()},
      {"threads", loaded.team().members()},
      {"prompt", options.prompt},
      {"gen", options.gen},
      {"repeat", options.repeat},
      {"load_seconds", loaded.load_seconds()},
      {"sampling", "greedy, in the measured time"},
  };
  // The probe stands among the runs, so that both see the same machine.
  std::vector<double> probes;
  std::vector<std::vector<Speed>> speeds(options.rows.size());
  for (int repeat = 0; repeat < options.repeat; ++repeat) {
    probes.push_back(ProbePlainRead(loaded.team(), kProbeBytes, 2));
    for (std::size_t i = 0; i < options.rows.size(); ++i) {
      speeds[i].push_back(RunOnce(loaded, pool, options, options.rows[i]));
    }
  }
  const Spread probe = SpreadOf(probes);
  result["plain_read_bytes_per_second"] = ToJson(probe);
  for (std::size_t i = 0; i < options.rows.size(); ++i) {
    std::vector<double> prefill, decode;
    for (const Speed& speed : speeds[i]) {
      prefill.push_back(speed.prefill);
      decode.push_back(speed.decode);
    }
    // One forward a step reads every weight once, whatever the rows.
    const double steps = SpreadOf(decode).median / static_cast<double>(options.rows[i]);
    result["runs"].push_back({
        {"rows", options.rows[i]},
        {"prefill_tokens_per_second", ToJson(SpreadOf(prefill))},
        {"decode_tokens_per_second", ToJson(SpreadOf(decode))},
        {"decode_weight_bytes_per_second", steps * static_cast<double>(facts.weight_bytes)},
        {"share_of_plain_read", steps * static_cast<double>(facts.weight_bytes) / probe.median},
    });
  }
  result["peak_memory_bytes"] = PeakMemoryBytes();

  if (options.json) {
    fmt::print("{}\n", result.dump(2));
    return 0;
  }
  fmt::print(
      "{}\n{}, {}, {} threads, numerics {}\nload {:.2f} s, plain read {:.1f} GB/s ({:.1f} to "
      "{:.1f})\n\n",
      loaded.file().name(),
      result["cpu"].get<std::string>(),
      IsaName(loaded.isa()),
      loaded.team().members(),
      NumericsName(facts.numerics),
      loaded.load_seconds(),
      probe.median / 1e9,
      probe.least / 1e9,
      probe.most / 1e9
  );
  fmt::print(
      "{:>5}  {:>26}  {:>26}  {:>12}\n",
      "rows",
      "prefill tok/s (min-max)",
      "decode tok/s (min-max)",
      "plain read"
  );
  for (const nlohmann::json& run : result["runs"]) {
    const auto cell = [&](const char* key) {
      const nlohmann::json& spread = run[key];
      return fmt::format(
          "{:.1f} ({:.1f}-{:.1f})",
          spread["median"].get<double>(),
          spread["min"].get<double>(),
          spread["max"].get<double>()
      );
    };
    fmt::print(
        "{:>5}  {:>26}  {:>26}  {:>11.0f}%\n",
        run["rows"].get<int>(),
        cell("prefill_tokens_per_second"),
        cell("decode_tokens_per_second"),
        100 * run["share_of_plain_read"].get<double>()
    );
  }
  fmt::print("\npeak memory {:.0f} MB\n", result["peak_memory_bytes"].get<double>() / 1e6);
  return 0;
}

}  // namespace hearth
