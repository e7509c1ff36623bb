// A conversation with an engine: messages in, streamed answers out.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/run_command.h"
#include "hearth/engine.h"

namespace hearth {

struct AnsweredToken {
  TokenId id = 0;
  std::optional<TokenLogprobs> logprobs;
};

// One answer with everything that --json shows.
struct Answer {
  std::string text;
  std::vector<TokenId> prompt;
  std::vector<AnsweredToken> tokens;
  std::optional<FinishReason> reason;  // none when it was stopped
  GenerationMetrics metrics;           // the engine's; of a stopped answer, what was seen from here
  double first_token_seconds = 0;      // from Conversation's `start` to the first token
};

// Ownership: borrows the engine, which outlives it.
// Threads:   one at a time.
class Conversation {
 public:
  // `seed` is that of the first turn's draws; later turns draw from seeds mixed from it. `start` is when the program
  // began to load the model.
  Conversation(
      Engine& engine,
      const RunOptions& options,
      std::uint64_t seed,
      std::chrono::steady_clock::time_point start
  );

  // Answers a user's message: `piece` gets the text as it comes, whole characters only. The message and the answer
  // (also one that was stopped) become part of the conversation; after an error neither does. `stopped` is asked with
  // every event, and some times a second while none comes.
  // Errors: those of ModelText, Engine::Open and blocking::Completed, and of `piece`.
  Answer Ask(
      const std::string& message,
      const std::function<void(std::string_view piece)>& piece,
      const std::function<bool()>& stopped
  );

 private:
  std::vector<TokenId> PromptTokens(const std::vector<ChatMessage>& messages) const;

  Engine& engine_;
  const RunOptions& options_;
  std::uint64_t seed_;
  std::chrono::steady_clock::time_point start_;
  std::uint64_t turn_ = 0;
  std::vector<ChatMessage> messages_;
};

}  // namespace hearth
