#include "cli/bench_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/bench_rows.h"
#include "cli/bench_sessions.h"
#include "hearth/engine.h"
#include "hearth/error.h"
#include "library/loaded_model.h"
#include "platform/peak_memory.h"
#include "platform/read_probe.h"

namespace hearth {
namespace {

constexpr std::size_t kProbeBytes = std::size_t{256} << 20;

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

// Of each row or session its own; the same each time.
std::vector<std::vector<TokenId>> BenchPrompts(
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

std::size_t PagesOfRow(const BenchOptions& options) {
  return PagesFor(options.prompt + options.gen);
}

std::size_t MostOf(const std::vector<std::size_t>& rows, const std::vector<std::size_t>& sessions) {
  std::size_t most = 0;
  for (const std::vector<std::size_t>* counts : {&rows, &sessions}) {
    for (const std::size_t count : *counts) {
      if (count < 1 || count > 1024) {
        throw Error(
            ErrorCode::kInvalidArgument, "bench: --rows and --sessions want numbers from 1 to 1024"
        );
      }
      most = std::max(most, count);
    }
  }
  return most;
}

// The engine of the sessions; its model also runs the rows, while no session is open.
EngineOptions OptionsOf(const BenchOptions& options) {
  EngineOptions engine = options.engine;
  engine.batch = engine.queue = std::max<std::size_t>(1, MostOf({}, options.sessions));
  engine.prompt_cache = false;
  return engine;
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
  const std::size_t most_rows = MostOf(options.rows, options.sessions);
  const StepSizes steps{.batch = most_rows, .step_tokens = 1, .prefill_tokens = kRowsPrefillTokens};
  const std::string why_not =
      loaded.PlanFor(steps, kProbeBytes).WhyNot(most_rows, options.prompt + options.gen);
  if (!why_not.empty()) {
    refuse("--rows of --prompt and --gen do not fit into memory: " + why_not);
  }
}

// With the share of what as many rows generate, where those were measured too.
nlohmann::json SessionsToJson(
    std::size_t count, const std::vector<SessionsSpeed>& speeds, const nlohmann::json& runs
) {
  const auto spread = [&](double SessionsSpeed::* part) {
    std::vector<double> values;
    for (const SessionsSpeed& speed : speeds) {
      values.push_back(speed.*part);
    }
    return SpreadOf(std::move(values));
  };
  const Spread whole = spread(&SessionsSpeed::tokens_per_second);
  nlohmann::json result = {
      {"sessions", count},
      {"generated_tokens_per_second", ToJson(whole)},
      {"decode_tokens_per_second", ToJson(spread(&SessionsSpeed::decode_per_second))},
      {"first_token_seconds_median", ToJson(spread(&SessionsSpeed::first_token_median))},
      {"first_token_seconds_most", ToJson(spread(&SessionsSpeed::first_token_most))},
  };
  for (const nlohmann::json& run : runs) {
    if (run["rows"] == count) {
      result["share_of_rows"] =
          whole.median / run["generated_tokens_per_second"]["median"].get<double>();
    }
  }
  return result;
}

// "median (least-most)"
std::string Cell(const nlohmann::json& spread) {
  return fmt::format(
      "{:.1f} ({:.1f}-{:.1f})",
      spread["median"].get<double>(),
      spread["min"].get<double>(),
      spread["max"].get<double>()
  );
}

void PrintSessions(const nlohmann::json& sessions) {
  fmt::print(
      "\n{:>8}  {:>26}  {:>26}  {:>19}  {:>7}\n",
      "sessions",
      "generated tok/s (min-max)",
      "while all decode",
      "first token s, most",
      "of rows"
  );
  for (const nlohmann::json& run : sessions) {
    fmt::print(
        "{:>8}  {:>26}  {:>26}  {:>19.2f}  {:>7}\n",
        run["sessions"].get<std::size_t>(),
        Cell(run["generated_tokens_per_second"]),
        Cell(run["decode_tokens_per_second"]),
        run["first_token_seconds_most"]["median"].get<double>(),
        run.contains("share_of_rows")
            ? fmt::format("{:.0f}%", 100 * run["share_of_rows"].get<double>())
            : "-"
    );
  }
}

}  // namespace

int RunBench(const BenchOptions& options) {
  Engine engine(OptionsOf(options));
  LoadedModel& loaded = LoadedModelOf(engine);
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
  std::vector<std::vector<RowsSpeed>> speeds(options.rows.size());
  std::vector<std::vector<SessionsSpeed>> sessions(options.sessions.size());
  for (int repeat = 0; repeat < options.repeat; ++repeat) {
    probes.push_back(ProbePlainRead(loaded.team(), kProbeBytes, 2));
    for (std::size_t i = 0; i < options.rows.size(); ++i) {
      speeds[i].push_back(MeasureRows(
          loaded, pool, BenchPrompts(options, options.rows[i], facts.vocabulary), options.gen
      ));
    }
    for (std::size_t i = 0; i < options.sessions.size(); ++i) {
      sessions[i].push_back(MeasureSessions(
          engine, BenchPrompts(options, options.sessions[i], facts.vocabulary), options.gen
      ));
    }
  }
  const Spread probe = SpreadOf(probes);
  result["plain_read_bytes_per_second"] = ToJson(probe);
  for (std::size_t i = 0; i < options.rows.size(); ++i) {
    std::vector<double> prefill, decode, whole;
    for (const RowsSpeed& speed : speeds[i]) {
      prefill.push_back(speed.prefill);
      decode.push_back(speed.decode);
      whole.push_back(speed.whole);
    }
    // One forward a step reads every weight once, whatever the rows.
    const double steps = SpreadOf(decode).median / static_cast<double>(options.rows[i]);
    result["runs"].push_back({
        {"rows", options.rows[i]},
        {"prefill_tokens_per_second", ToJson(SpreadOf(prefill))},
        {"decode_tokens_per_second", ToJson(SpreadOf(decode))},
        {"generated_tokens_per_second", ToJson(SpreadOf(whole))},
        {"decode_weight_bytes_per_second", steps * static_cast<double>(facts.weight_bytes)},
        {"share_of_plain_read", steps * static_cast<double>(facts.weight_bytes) / probe.median},
    });
  }
  for (std::size_t i = 0; i < options.sessions.size(); ++i) {
    result["sessions"].push_back(SessionsToJson(options.sessions[i], sessions[i], result["runs"]));
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
      "{:>5}  {:>26}  {:>26}  {:>26}  {:>12}\n",
      "rows",
      "prefill tok/s (min-max)",
      "decode tok/s (min-max)",
      "generated, of all time",
      "plain read"
  );
  for (const nlohmann::json& run : result["runs"]) {
    fmt::print(
        "{:>5}  {:>26}  {:>26}  {:>26}  {:>11.0f}%\n",
        run["rows"].get<int>(),
        Cell(run["prefill_tokens_per_second"]),
        Cell(run["decode_tokens_per_second"]),
        Cell(run["generated_tokens_per_second"]),
        100 * run["share_of_plain_read"].get<double>()
    );
  }
  if (!options.sessions.empty()) {
    PrintSessions(result["sessions"]);
  }
  fmt::print("\npeak memory {:.0f} MB\n", result["peak_memory_bytes"].get<double>() / 1e6);
  return 0;
}

}  // namespace hearth
