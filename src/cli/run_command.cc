#include "cli/run_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/complaint.h"
#include "cli/conversation.h"
#include "cli/interrupt.h"
#include "cli/standard_input.h"
#include "hearth/engine.h"
#include "hearth/error.h"
#include "library/model_directory.h"
#include "platform/peak_memory.h"
#include "platform/random_seed.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kInterrupted = 130;  // as shells report SIGINT

std::string_view ReasonName(const std::optional<FinishReason>& reason) {
  return reason ? FinishReasonName(*reason) : "cancelled";
}

void Write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::kIo, "standard output: cannot be written");
  }
}

double PerSecond(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

Json TokensToJson(const Answer& answer, const ModelText& text) {
  Json tokens = Json::array();
  for (const AnsweredToken& token : answer.tokens) {
    Json entry = {{"id", token.id}, {"text", text.TokenBytes(token.id)}};
    if (token.logprobs && token.logprobs->logprob) {
      entry["logprob"] = *token.logprobs->logprob;
    }
    if (token.logprobs && token.logprobs->top && !token.logprobs->top->empty()) {
      Json top = Json::array();
      for (const TopLogprob& other : *token.logprobs->top) {
        top.push_back(
            {{"id", other.id}, {"text", text.TokenBytes(other.id)}, {"logprob", other.logprob}}
        );
      }
      entry["top_logprobs"] = std::move(top);
    }
    tokens.push_back(std::move(entry));
  }
  return tokens;
}

Json ToJson(const Answer& answer, const Engine& engine, std::uint64_t seed) {
  const ModelInfo& model = engine.model();
  const GenerationMetrics& metrics = answer.metrics;
  return {
      {"model", model.name},
      {"numerics", NumericsName(model.numerics)},
      {"isa", model.isa},
      {"threads", model.threads},
      {"seed", seed},
      {"text", answer.text},
      {"finish_reason", ReasonName(answer.reason)},
      {"prompt_ids", answer.prompt},
      {"tokens", TokensToJson(answer, engine.text())},
      {"peak_memory_bytes", PeakMemoryBytes()},
      {"timings",
       {{"load_seconds", model.load_seconds},
        {"load_to_first_token_seconds", answer.first_token_seconds},
        {"prompt_tokens", metrics.prompt_tokens},
        {"cached_tokens", metrics.cached_prompt_tokens},
        {"generated_tokens", metrics.generated_tokens},
        {"queue_seconds", metrics.queue_seconds},
        {"prefill_seconds", metrics.prefill_seconds},
        {"decode_seconds", metrics.decode_seconds},
        {"prefill_tokens_per_second",
         PerSecond(metrics.prompt_tokens - metrics.cached_prompt_tokens, metrics.prefill_seconds)},
        {"decode_tokens_per_second", PerSecond(metrics.decode_steps, metrics.decode_seconds)}}},
  };
}

void PrintStats(const Answer& answer) {
  const GenerationMetrics& metrics = answer.metrics;
  fmt::print(
      stderr,
      "{} prompt tokens ({} cached) in {:.2f} s, {} tokens at {:.1f} tokens/s, {}\n",
      metrics.prompt_tokens,
      metrics.cached_prompt_tokens,
      metrics.prefill_seconds,
      metrics.generated_tokens,
      PerSecond(metrics.decode_steps, metrics.decode_seconds),
      ReasonName(answer.reason)
  );
}

int RunOnce(
    const Engine& engine,
    Conversation& conversation,
    const RunOptions& options,
    const std::string& prompt,
    std::uint64_t seed
) {
  const InterruptScope interrupt;
  const Answer answer = conversation.Ask(
      prompt,
      [&](std::string_view piece) {
        if (!options.json) {
          Write(piece);
        }
      },
      InterruptScope::Pressed
  );
  if (options.json) {
    fmt::print(
        "{}\n", ToJson(answer, engine, seed).dump(2, ' ', false, Json::error_handler_t::replace)
    );
  } else if (!answer.text.ends_with('\n')) {
    Write("\n");
  }
  if (options.stats) {
    PrintStats(answer);
  }
  return answer.reason ? 0 : kInterrupted;
}

// Reads one line of the terminal; false at its end (Ctrl-D on an empty line).
bool ReadLine(std::string& line) {
  line.clear();
  while (true) {
    const int byte = std::fgetc(stdin);
    if (byte == '\n') {
      return true;
    }
    if (byte == EOF) {
      if (InterruptScope::Pressed()) {
        // Ctrl-C at the prompt drops the line.
        InterruptScope::Clear();
        std::clearerr(stdin);
        Write("\n");
        line.clear();
        return true;
      }
      if (!line.empty()) {
        Write("\n");  // Ctrl-D left the cursor behind the text
      }
      return !line.empty();
    }
    line.push_back(static_cast<char>(byte));
  }
}

int Chat(Conversation& conversation, const RunOptions& options) {
  const InterruptScope interrupt;
  Write("Ctrl-C stops an answer, Ctrl-D leaves.\n");
  std::string line;
  while (true) {
    Write("> ");
    if (!ReadLine(line)) {
      Write("\n");
      return 0;
    }
    if (line.empty()) {
      continue;
    }
    InterruptScope::Clear();
    try {
      const Answer answer = conversation.Ask(line, Write, InterruptScope::Pressed);
      Write("\n");
      if (options.stats) {
        PrintStats(answer);
      }
    } catch (const Error& error) {
      Complain(error.what());
    }
    InterruptScope::Clear();
  }
}

// One request at a time, and a reader that may be held up for as long as its terminal is.
EngineOptions OptionsOfOne(const RunOptions& options) {
  EngineOptions engine = options.engine;
  engine.batch = 1;
  engine.queue = 1;
  engine.step_tokens = engine.prefill_tokens = options.prefill_chunk;
  engine.idle_timeout = std::chrono::hours(24);
  return engine;
}

}  // namespace

int RunRun(const RunOptions& options) {
  Validate(options.sampling);
  const bool terminal = isatty(STDIN_FILENO) != 0;
  const bool chat = !options.prompt && terminal;
  if (options.sampling.top_logprobs && !options.json) {
    throw Error(ErrorCode::kInvalidArgument, "run: --logprobs wants --json");
  }
  if (options.raw && !options.system.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "run: --raw has no place for --system");
  }
  if (chat && (options.json || options.raw)) {
    throw Error(ErrorCode::kInvalidArgument, "run: --json and --raw want a prompt");
  }
  std::string prompt;
  if (!chat) {
    FindModel(options.engine.model.empty() ? kDefaultModel : options.engine.model);
    prompt = options.prompt ? *options.prompt : ReadStandardInput();
    if (!options.prompt && !options.raw && prompt.ends_with('\n')) {
      prompt.pop_back();  // the line's end is the pipe's, not the message's
    }
    if (prompt.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "run: the prompt is empty");
    }
  }
  const auto start = std::chrono::steady_clock::now();
  Engine engine(OptionsOfOne(options));
  RunOptions answered = options;
  if (options.json && !options.sampling.top_logprobs) {
    answered.sampling.top_logprobs = 0;  // the chosen token's own
  }
  const std::uint64_t seed = options.sampling.seed ? *options.sampling.seed : FreshSeed();
  Conversation conversation(engine, answered, seed, start);
  return chat ? Chat(conversation, answered)
              : RunOnce(engine, conversation, answered, prompt, seed);
}

}  // namespace hearth
