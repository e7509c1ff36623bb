// A conversation with a loaded model: messages in, streamed answers out. Keeps the cached keys and values
// between turns.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/run_command.h"
#include "engine/memory.h"
#include "kv/sequence.h"
#include "library/loaded_model.h"
#include "methods/autoregressive.h"

namespace hearth {

// One answer with everything that --json shows.
struct Answer {
  std::string text;
  std::vector<TokenId> prompt;
  std::vector<SampledToken> tokens;
  AutoregressiveResult result;
  double first_token_seconds =
      0;  // from the start of loading to the first token, whatever lay between
};

// Ownership: borrows the loaded model, which outlives it.
// Threads:   one at a time.
class Conversation {
 public:
  // `seed` is that of the first turn's draws; later turns draw from seeds mixed from it.
  Conversation(LoadedModel& loaded, const RunOptions& options, std::uint64_t seed);

  // Answers a user's message: `piece` gets the text as it comes, whole characters only. The message and the answer
  // (also one that was stopped) become part of the conversation; after an error neither does.
  // Errors: those of the template, of Encode, and of GenerateAutoregressive.
  Answer Ask(
      const std::string& message,
      const std::function<void(std::string_view piece)>& piece,
      const std::function<bool()>& stopped
  );

 private:
  std::vector<TokenId> PromptTokens(const nlohmann::ordered_json& messages) const;

  LoadedModel& loaded_;
  const RunOptions& options_;
  std::uint64_t seed_;
  std::uint64_t turn_ = 0;
  nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();
  CacheSize cache_;
  PagePool pool_;
  KvSequence sequence_;
  std::vector<TokenId> cached_;  // the tokens that sequence_ holds
};

}  // namespace hearth
