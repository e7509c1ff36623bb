#include "cli/run_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/complaint.h"
#include "cli/conversation.h"
#include "cli/interrupt.h"
#include "cli/standard_input.h"
#include "hearth/error.h"
#include "library/loaded_model.h"
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

double PerSecond(std::size_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

Json TokensToJson(const Answer& answer, LoadedModel& loaded) {
  Json tokens = Json::array();
  for (const SampledToken& token : answer.tokens) {
    Json entry = {{"id", token.token}, {"text", loaded.tokenizer().TokenBytes(token.token)}};
    if (token.logprob) {
      entry["logprob"] = *token.logprob;
    }
    if (!token.top_logprobs.empty()) {
      Json top = Json::array();
      for (const TokenLogprob& other : token.top_logprobs) {
        top.push_back(
            {{"id", other.token},
             {"text", loaded.tokenizer().TokenBytes(other.token)},
             {"logprob", other.logprob}}
        );
      }
      entry["top_logprobs"] = std::move(top);
    }
    tokens.push_back(std::move(entry));
  }
  return tokens;
}

Json ToJson(const Answer& answer, LoadedModel& loaded, std::uint64_t seed) {
  const AutoregressiveTimings& timings = answer.result.timings;
  return {
      {"model", loaded.file().name()},
      {"numerics", NumericsName(loaded.model().facts().numerics)},
      {"isa", IsaName(loaded.isa())},
      {"threads", loaded.team().members()},
      {"seed", seed},
      {"text", answer.text},
      {"finish_reason", ReasonName(answer.result.reason)},
      {"prompt_ids", answer.prompt},
      {"tokens", TokensToJson(answer, loaded)},
      {"peak_memory_bytes", PeakMemoryBytes()},
      {"timings",
       {{"load_seconds", loaded.load_seconds()},
        {"load_to_first_token_seconds", answer.first_token_seconds},
        {"prompt_tokens", timings.prompt_tokens},
        {"cached_tokens", timings.cached_tokens},
        {"generated_tokens", timings.generated_tokens},
        {"prefill_seconds", timings.prefill_seconds},
        {"decode_seconds", timings.decode_seconds},
        {"prefill_tokens_per_second",
         PerSecond(timings.prompt_tokens - timings.cached_tokens, timings.prefill_seconds)},
        {"decode_tokens_per_second", PerSecond(timings.decode_steps, timings.decode_seconds)}}},
  };
}

void PrintStats(const Answer& answer) {
  const AutoregressiveTimings& timings = answer.result.timings;
  fmt::print(
      stderr,
      "{} prompt tokens ({} cached) in {:.2f} s, {} tokens at {:.1f} tokens/s, {}\n",
      timings.prompt_tokens,
      timings.cached_tokens,
      timings.prefill_seconds,
      timings.generated_tokens,
      PerSecond(timings.decode_steps, timings.decode_seconds),
      ReasonName(answer.result.reason)
  );
}

int RunOnce(
    LoadedModel& loaded, const RunOptions& options, const std::string& prompt, std::uint64_t seed
) {
  const InterruptScope interrupt;
  Conversation conversation(loaded, options, seed);
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
        "{}\n", ToJson(answer, loaded, seed).dump(2, ' ', false, Json::error_handler_t::replace)
    );
  } else if (!answer.text.ends_with('\n')) {
    Write("\n");
  }
  if (options.stats) {
    PrintStats(answer);
  }
  return answer.result.reason ? 0 : kInterrupted;
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

int Chat(LoadedModel& loaded, const RunOptions& options, std::uint64_t seed) {
  const InterruptScope interrupt;
  Conversation conversation(loaded, options, seed);
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
  LoadedModel loaded(options.engine);
  RunOptions answered = options;
  if (options.json && !options.sampling.top_logprobs) {
    answered.sampling.top_logprobs = 0;  // the chosen token's own
  }
  const std::uint64_t seed = options.sampling.seed ? *options.sampling.seed : FreshSeed();
  return chat ? Chat(loaded, answered, seed) : RunOnce(loaded, answered, prompt, seed);
}

}  // namespace hearth
