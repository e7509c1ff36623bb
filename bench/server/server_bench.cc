// A server under load and what that costs, seen from a client (README.md beside this file).
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "load_phase.h"
#include "process_figures.h"
#include "server_phases.h"

namespace hearth::bench {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr std::chrono::seconds kSettled{20};  // after which memory should not grow any more
constexpr double kMostGrowth = 0.05;
constexpr double kRestSeconds = 5;  // in which the server is expected to have let everything go

struct Options {
  std::string url;
  LoadOptions load;
  pid_t pid = 0;
  std::string hearth;  // program to compare with
  std::string model = "smollm2";
  std::size_t rows = 32;
  std::size_t row_prompt = 128;
  std::size_t row_gen = 64;
  int rounds = 3;
  std::size_t scrapes = 100;
  std::size_t scrape_prompt = 6000;
  bool json = false;
};

// Runs a coroutine to its end.
template <typename T>
T Wait(awaitable<T> work) {
  asio::io_context context;
  std::exception_ptr failed;
  std::optional<T> result;
  asio::co_spawn(context, std::move(work), [&](const std::exception_ptr& error, T value) {
    failed = error;
    result = std::move(value);
  });
  context.run();
  if (failed) {
    std::rethrow_exception(failed);
  }
  return std::move(*result);
}

Json Percentiles(std::vector<double> seconds) {
  if (seconds.empty()) {
    return nullptr;
  }
  std::ranges::sort(seconds);
  const auto at = [&](double share) {
    const auto last = static_cast<double>(seconds.size() - 1);
    return seconds[static_cast<std::size_t>(std::lround(last * share))] * 1e3;
  };
  return {
      {"count", seconds.size()},
      {"p50_ms", at(0.5)},
      {"p90_ms", at(0.9)},
      {"p95_ms", at(0.95)},
      {"p99_ms", at(0.99)},
      {"most_ms", at(1)}
  };
}

// Resident bytes, and the most pages of keys and values that were in use until then: pages are touched when they are
// first used and kept, so they are growth that is meant.
struct MemoryWatch {
  std::size_t pages = 0;
  std::size_t settled_bytes = 0;  // 0: the load ended before
  std::size_t settled_pages = 0;
};

awaitable<void> WatchMemory(
    const Options& options, const std::size_t& running, MemoryWatch& watch
) {
  const Clock::time_point begin = Clock::now();
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (running > 0) {
    timer.expires_after(std::chrono::milliseconds(200));
    co_await timer.async_wait(asio::use_awaitable);
    awaitable<Json> asking = AskStats(options.load.server);
    const Json stats = co_await std::move(asking);
    watch.pages = std::max(watch.pages, stats["pages"]["used"].get<std::size_t>());
    if (options.pid > 0 && watch.settled_bytes == 0 && Clock::now() - begin > kSettled) {
      watch.settled_bytes = ResidentBytes(options.pid);
      watch.settled_pages = watch.pages;
    }
  }
}

void AddMemory(const Options& options, const MemoryWatch& watch, Json& load) {
  const std::size_t end = ResidentBytes(options.pid);
  load["resident_bytes"] = {{"settled", watch.settled_bytes}, {"end", end}};
  if (watch.settled_bytes == 0) {
    return;
  }
  const std::size_t pages =
      (watch.pages - watch.settled_pages) * Wait(AskPageBytes(options.load.server));
  const auto settled = static_cast<double>(watch.settled_bytes);
  load["new_page_bytes"] = pages;
  load["resident_growth"] = (static_cast<double>(end) - static_cast<double>(pages)) / settled - 1;
}

Json RunLoad(const Options& options) {
  const Json before = Wait(AskStats(options.load.server));
  const double cpu_before = options.pid > 0 ? CpuSeconds(options.pid) : 0;
  LoadFigures figures;
  MemoryWatch watch;
  asio::io_context context;
  const Clock::time_point begin = Clock::now();
  const auto until = begin + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(options.load.seconds)
                             );
  std::size_t running = options.load.streams;
  std::exception_ptr failed;
  const auto keep_failure = [&](const std::exception_ptr& error) {
    failed = error ? error : failed;
  };
  for (std::size_t i = 0; i < options.load.streams; ++i) {
    asio::co_spawn(
        context, RunStream(options.load, i, until, figures), [&](const std::exception_ptr& error) {
          keep_failure(error);
          --running;
        }
    );
  }
  asio::co_spawn(context, WatchMemory(options, running, watch), keep_failure);
  context.run();
  if (failed) {
    std::rethrow_exception(failed);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const Json after = Wait(AwaitRest(options.load.server, kRestSeconds));
  const auto made = [](const Json& stats) {
    return stats["totals"]["generated_tokens"].get<double>();
  };
  const double tokens = made(after) - made(before);
  Json result = {
      {"streams", options.load.streams},
      {"seconds", seconds},
      {"tokens_per_second", tokens / seconds},
      {"generated_tokens", tokens},
      {"first_token", Percentiles(std::move(figures.first_token))},
      {"inter_token", Percentiles(std::move(figures.inter_token))},
      {"ends", figures.ends},
      {"unexpected", figures.unexpected},
      {"busy_at_the_end", BusyGauges(after)},
      {"stats", after},
  };
  if (options.pid > 0) {
    AddMemory(options, watch, result);
    result["cpu_seconds_per_1000_tokens"] = (CpuSeconds(options.pid) - cpu_before) / tokens * 1e3;
  }
  return result;
}

// The same rows through the server and through `hearth bench`, whose start is taken off: runs of 1 and of 1 + rounds.
Json CompareCpu(const Options& options) {
  const auto rows = [&](std::uint64_t seed) -> awaitable<int> {
    awaitable<void> running =
        RunEqualRows(options.load.server, options.rows, options.row_prompt, options.row_gen, seed);
    co_await std::move(running);
    co_return 0;
  };
  Wait(rows(0));
  const double before = CpuSeconds(options.pid);
  for (int round = 1; round <= options.rounds; ++round) {
    Wait(rows(static_cast<std::uint64_t>(round)));
  }
  const double server = CpuSeconds(options.pid) - before;
  const auto bench = [&](int repeat) {
    return CpuSecondsOfRun(
        {options.hearth,
         "bench",
         options.model,
         "--rows",
         std::to_string(options.rows),
         "--prompt",
         std::to_string(options.row_prompt),
         "--gen",
         std::to_string(options.row_gen),
         "--repeat",
         std::to_string(repeat)}
    );
  };
  const double whole = bench(1 + options.rounds);
  const double direct = whole - bench(1);
  const auto per_thousand = [&](double seconds) {
    return seconds * 1e3 /
           static_cast<double>(
               options.rows * options.row_gen * static_cast<std::size_t>(options.rounds)
           );
  };
  return {
      {"rows", options.rows},
      {"prompt", options.row_prompt},
      {"gen", options.row_gen},
      {"rounds", options.rounds},
      {"server_cpu_seconds_per_1000_tokens", per_thousand(server)},
      {"bench_cpu_seconds_per_1000_tokens", per_thousand(direct)},
      {"ratio", server / direct}
  };
}

void PrintPercentiles(const char* name, const Json& figures) {
  if (figures.is_null()) {
    fmt::print("{:<14} none\n", name);
    return;
  }
  fmt::print(
      "{:<14} p50 {:.1f}  p90 {:.1f}  p95 {:.1f}  p99 {:.1f}  most {:.1f} ms  ({} of them)\n",
      name,
      figures["p50_ms"].get<double>(),
      figures["p90_ms"].get<double>(),
      figures["p95_ms"].get<double>(),
      figures["p99_ms"].get<double>(),
      figures["most_ms"].get<double>(),
      figures["count"].get<std::size_t>()
  );
}

void Print(const Json& result) {
  const Json& load = result["load"];
  fmt::print(
      "{} streams for {:.1f} s: {:.1f} tokens/s\n",
      load["streams"].get<std::size_t>(),
      load["seconds"].get<double>(),
      load["tokens_per_second"].get<double>()
  );
  PrintPercentiles("first token", load["first_token"]);
  PrintPercentiles("inter-token", load["inter_token"]);
  for (const char* kind : {"ends", "unexpected"}) {
    for (const auto& [name, count] : load[kind].items()) {
      fmt::print("{:<14} {:>6}  {}\n", kind, count.get<int>(), name);
    }
  }
  fmt::print(
      "gauges         {} busy at the end: {} {}\n",
      load["busy_at_the_end"].get<std::size_t>(),
      load["stats"]["requests"].dump(),
      load["stats"]["pages"].dump()
  );
  if (load.contains("resident_bytes")) {
    const auto mib = [&](const char* when) {
      return load["resident_bytes"][when].get<double>() / (1 << 20);
    };
    fmt::print("resident       {:.1f} MiB at the end", mib("end"));
    if (load.contains("resident_growth")) {
      fmt::print(
          ", {:.1f} MiB after 20 s, {:.1f} MiB pages new since: {:+.1f} % beside them",
          mib("settled"),
          load["new_page_bytes"].get<double>() / (1 << 20),
          100 * load["resident_growth"].get<double>()
      );
    }
    fmt::print("\n");
    fmt::print(
        "CPU            {:.2f} s per 1,000 tokens of this load\n",
        load["cpu_seconds_per_1000_tokens"].get<double>()
    );
  }
  if (result.contains("cpu")) {
    const Json& cpu = result["cpu"];
    fmt::print(
        "CPU            {:.3f} s per 1,000 tokens, hearth bench {:.3f}: {:.2f} times ({} rows of "
        "{} + {} tokens)\n",
        cpu["server_cpu_seconds_per_1000_tokens"].get<double>(),
        cpu["bench_cpu_seconds_per_1000_tokens"].get<double>(),
        cpu["ratio"].get<double>(),
        cpu["rows"].get<std::size_t>(),
        cpu["prompt"].get<std::size_t>(),
        cpu["gen"].get<std::size_t>()
    );
  }
  if (result.contains("scrapes")) {
    PrintPercentiles("scrapes", result["scrapes"]);
  }
}

int Run(Options options) {
  options.load.server = ParseUrl(options.url);
  Json result = {{"load", RunLoad(options)}};
  if (options.pid > 0 && !options.hearth.empty()) {
    result["cpu"] = CompareCpu(options);
  }
  if (options.scrapes > 0) {
    result["scrapes"] = Percentiles(
        Wait(ScrapeDuringPrefill(options.load.server, options.scrapes, options.scrape_prompt))
    );
  }
  const Json& load = result["load"];
  // A busy machine moves times, not these.
  const bool good = load["unexpected"].empty() && load["busy_at_the_end"] == 0 &&
                    load.value("resident_growth", 0.0) <= kMostGrowth;
  result["good"] = good;
  if (options.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    Print(result);
    fmt::print("{}\n", good ? "good" : "NOT good: unexpected ends, busy gauges or growing memory");
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace hearth::bench

int main(int argc, char** argv) {
  hearth::bench::Options options;
  CLI::App app("A server under load, seen from a client");
  app.add_option("url", options.url, "http://HOST:PORT of a running server")->required();
  app.add_option("--seconds", options.load.seconds, "Length of the load")->capture_default_str();
  app.add_option("--streams", options.load.streams, "Streams at once")->capture_default_str();
  app.add_option("--aborts", options.load.abort_share, "Share of requests that are broken off")
      ->capture_default_str();
  app.add_option("--seed", options.load.seed, "Of the requests")->capture_default_str();
  app.add_option("--pid", options.pid, "The server's process, for memory and CPU time");
  app.add_option("--hearth", options.hearth, "Program whose `bench` is compared (with --pid)");
  app.add_option("--model", options.model, "Model of that bench")->capture_default_str();
  app.add_option("--rows", options.rows, "Rows of the comparison")->capture_default_str();
  app.add_option("--row-prompt", options.row_prompt, "Tokens of their prompts")
      ->capture_default_str();
  app.add_option("--row-gen", options.row_gen, "Tokens that they generate")->capture_default_str();
  app.add_option("--rounds", options.rounds, "Measured rounds of the comparison")
      ->capture_default_str();
  app.add_option("--scrapes", options.scrapes, "Scrapes of /metrics during a prefill")
      ->capture_default_str();
  app.add_option("--scrape-prompt", options.scrape_prompt, "Tokens of that prefill")
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  try {
    return hearth::bench::Run(std::move(options));
  } catch (const std::exception& error) {
    fmt::print(stderr, "server_bench: {}\n", error.what());
    return 1;
  }
}
