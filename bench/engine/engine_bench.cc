// What continuous batching does to those who wait, measured through the public engine:
//   join    rows that decode while a long prompt arrives: the gaps between their tokens, beside the time of one step
//   prefix  the first token of a prompt whose beginning is cached, beside that of a new one; and that the bits are the same
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "hearth/blocking.h"
#include "hearth/engine.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

struct Options {
  EngineOptions engine;
  std::size_t rows = 8;
  std::size_t prompt = 6000;
  std::size_t prefix = 2000;
  int rounds = 3;
  bool json = false;
};

std::vector<TokenId> MadePrompt(std::mt19937& random, std::size_t tokens, std::size_t vocabulary) {
  std::vector<TokenId> prompt(tokens);
  for (TokenId& token : prompt) {
    token = static_cast<TokenId>(random() % vocabulary);
  }
  return prompt;
}

double At(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(last * share + 0.5)];
}

// Reads one answer as fast as it comes and remembers when its tokens came.
class Reader : public std::enable_shared_from_this<Reader> {
 public:
  explicit Reader(GenerationHandle handle) : handle_(std::move(handle)) {}

  void Start() {
    handle_.Next([self = shared_from_this()](
                     const std::exception_ptr& error, const std::optional<GenerationEvent>& event
                 ) { self->Take(error, event); });
  }

  // Waits for the first token; 0 tokens means that there was none.
  Clock::time_point First() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !times_.empty() || ended_; });
    return times_.empty() ? Clock::now() : times_.front();
  }

  void AwaitEnd() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_; });
  }

  std::vector<Clock::time_point> times() {
    const std::scoped_lock lock(mutex_);
    return times_;
  }

  void Cancel() { handle_.Cancel(); }

 private:
  void Take(const std::exception_ptr& error, const std::optional<GenerationEvent>& event) {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = error != nullptr || !event;
      if (event && std::holds_alternative<CommittedTokens>(*event)) {
        times_.push_back(Clock::now());
      }
    }
    changed_.notify_all();
    if (!ended_) {
      Start();
    }
  }

  GenerationHandle handle_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Clock::time_point> times_;
  bool ended_ = false;
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), engine_(options.engine) {}

  nlohmann::json Join();
  nlohmann::json Prefix();

 private:
  std::shared_ptr<Reader> Open(std::vector<TokenId> prompt, std::uint64_t max_tokens) {
    GenerationRequest request = engine_.MakeRequest(std::move(prompt));
    request.max_tokens = max_tokens;
    request.stop_tokens.clear();
    request.use_cache = false;
    const auto reader = std::make_shared<Reader>(blocking::Open(engine_, std::move(request)));
    reader->Start();
    return reader;
  }

  std::vector<TokenId> Made(std::size_t tokens) {
    return MadePrompt(random_, tokens, engine_.model().vocabulary);
  }

  Options options_;
  Engine engine_;
  std::mt19937 random_{1};
};

nlohmann::json Bench::Join() {
  std::vector<std::shared_ptr<Reader>> decoding;
  for (std::size_t i = 0; i < options_.rows; ++i) {
    decoding.push_back(Open(Made(16), 1'000'000));
  }
  for (const auto& reader : decoding) {
    reader->First();
  }
  // The longest gap of each decoding row between two moments is the step in between.
  const auto gaps = [&](Clock::time_point from, Clock::time_point to) {
    std::vector<double> result;
    for (const auto& reader : decoding) {
      const std::vector<Clock::time_point> times = reader->times();
      for (std::size_t i = 1; i < times.size(); ++i) {
        if (times[i] > from && times[i - 1] < to) {
          result.push_back(Milliseconds(times[i] - times[i - 1]).count());
        }
      }
    }
    return result;
  };
  // A prompt that fills exactly one step beside the rows.
  std::vector<double> one_step;
  for (int i = 0; i < 9; ++i) {
    const Clock::time_point asked = Clock::now();
    const auto joiner = Open(Made(options_.engine.step_tokens - options_.rows), 1);
    const Clock::time_point first = joiner->First();
    joiner->AwaitEnd();
    one_step.push_back(At(gaps(asked, first), 1));
  }
  const Clock::time_point asked = Clock::now();
  const auto joiner = Open(Made(options_.prompt), 1);
  const Clock::time_point first = joiner->First();
  joiner->AwaitEnd();
  const std::vector<double> all = gaps(asked, first);
  for (const auto& reader : decoding) {
    reader->Cancel();
    reader->AwaitEnd();
  }
  const double step = At(one_step, 0.5);
  return {
      {"one_step_ms", step},
      {"gaps", all.size()},
      {"gap_p50_ms", At(all, 0.5)},
      {"gap_p99_ms", At(all, 0.99)},
      {"gap_most_ms", At(all, 1)},
      {"p99_to_step", At(all, 0.99) / step},
      {"first_token_ms", Milliseconds(first - asked).count()},
  };
}

// The answer's tokens and their log-probabilities, and when the first came.
struct Timed {
  std::vector<TokenId> tokens;
  std::vector<std::optional<TokenLogprobs>> logprobs;
  double first_ms = 0;
};

Timed AskTimed(Engine& engine, const std::vector<TokenId>& prompt, bool use_cache) {
  SamplingParameters sampling;
  sampling.top_logprobs = 5;
  GenerationRequest request = engine.MakeRequest(prompt, sampling);
  request.max_tokens = 16;
  request.use_cache = use_cache;
  Timed timed;
  const Clock::time_point asked = Clock::now();
  blocking::Answer answer(engine, std::move(request));
  while (const auto tokens = answer.NextTokens()) {
    if (timed.tokens.empty()) {
      timed.first_ms = Milliseconds(Clock::now() - asked).count();
    }
    timed.tokens.insert(timed.tokens.end(), tokens->token_ids.begin(), tokens->token_ids.end());
    timed.logprobs.insert(timed.logprobs.end(), tokens->logprobs->begin(), tokens->logprobs->end());
  }
  return timed;
}

nlohmann::json Bench::Prefix() {
  std::vector<TokenId> first = Made(options_.prefix);
  std::vector<TokenId> second = first;
  for (std::vector<TokenId>* prompt : {&first, &second}) {
    const std::vector<TokenId> own = Made(20);
    prompt->insert(prompt->end(), own.begin(), own.end());
  }
  const Timed cold = AskTimed(engine_, first, true);
  const Timed warm = AskTimed(engine_, second, true);
  const Timed alone = AskTimed(engine_, second, false);
  return {
      {"new_ms", cold.first_ms},
      {"cached_ms", warm.first_ms},
      {"without_cache_ms", alone.first_ms},
      {"ratio", cold.first_ms / warm.first_ms},
      {"same_bits", warm.tokens == alone.tokens && warm.logprobs == alone.logprobs},
  };
}

int Run(int argc, char** argv) {
  Options options;
  CLI::App app("measures what continuous batching does to those who wait");
  app.add_option(
      "MODEL", options.engine.model, "path or installed name (default: the default model)"
  );
  app.add_option("--rows", options.rows, "rows that decode while the long prompt arrives (8)");
  app.add_option("--prompt", options.prompt, "tokens of the long prompt (6000)");
  app.add_option("--prefix", options.prefix, "tokens that two prompts share (2000)");
  app.add_option("--step-tokens", options.engine.step_tokens, "of a mixed step (256)");
  app.add_option("--threads", options.engine.threads, "workers (every core)");
  app.add_option("--rounds", options.rounds, "of each measure (3)");
  app.add_flag("--json", options.json, "print JSON");
  CLI11_PARSE(app, argc, argv);
  Bench bench(options);
  nlohmann::json result;
  for (int i = 0; i < options.rounds; ++i) {
    result["join"].push_back(bench.Join());
    result["prefix"].push_back(bench.Prefix());
  }
  if (options.json) {
    fmt::print("{}\n", result.dump(2));
    return 0;
  }
  fmt::print(
      "join: {} rows decode, a prompt of {} tokens arrives; steps of {} tokens\n",
      options.rows,
      options.prompt,
      options.engine.step_tokens
  );
  for (const nlohmann::json& round : result["join"]) {
    fmt::print(
        "  one step {:.0f} ms; gaps: median {:.0f}, p99 {:.0f}, most {:.0f} ms; p99 to step "
        "{:.2f}; first token after {:.1f} s\n",
        round["one_step_ms"].get<double>(),
        round["gap_p50_ms"].get<double>(),
        round["gap_p99_ms"].get<double>(),
        round["gap_most_ms"].get<double>(),
        round["p99_to_step"].get<double>(),
        round["first_token_ms"].get<double>() / 1e3
    );
  }
  fmt::print("prefix: two prompts share {} tokens; first token of the second\n", options.prefix);
  for (const nlohmann::json& round : result["prefix"]) {
    fmt::print(
        "  new {:.0f} ms, cached {:.1f} ms: {:.1f} times sooner; {}\n",
        round["new_ms"].get<double>(),
        round["cached_ms"].get<double>(),
        round["ratio"].get<double>(),
        round["same_bits"].get<bool>() ? "the same bits as without the cache" : "OTHER BITS"
    );
  }
  return 0;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  try {
    return hearth::Run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "engine_bench: {}\n", error.what());
    return 1;
  }
}
