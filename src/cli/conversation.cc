#include "cli/conversation.h"

#include <algorithm>
#include <utility>

#include "hearth/error.h"
#include "sampling/seed.h"
#include "text/detokenizer.h"

namespace hearth {
namespace {

// Of one conversation: its context, or what the memory budget leaves of it.
CacheSize CacheOf(const LoadedModel& loaded, const RunOptions& options) {
  const std::size_t context = loaded.model().facts().context_length;
  const MemoryPlan plan =
      loaded.PlanFor({.batch = 1, .step_tokens = 1, .prefill_tokens = options.prefill_chunk});
  return {context, kPageTokens, std::min(plan.PagesOf(context), plan.RequirePages())};
}

}  // namespace

Conversation::Conversation(LoadedModel& loaded, const RunOptions& options, std::uint64_t seed)
    : loaded_(loaded),
      options_(options),
      seed_(seed),
      cache_(CacheOf(loaded, options)),
      pool_(loaded.model().facts().kv, cache_.pages),
      sequence_(pool_) {
  if (!options.system.empty()) {
    messages_.push_back({{"role", "system"}, {"content", options.system}});
  }
}

std::vector<TokenId> Conversation::PromptTokens(const nlohmann::ordered_json& messages) const {
  const Tokenizer& tokenizer = loaded_.tokenizer();
  if (options_.raw) {
    return tokenizer.Encode(
        messages.back().at("content").get_ref<const std::string&>(),
        {.add_special = true, .parse_special = true}
    );
  }
  // The template writes the special tokens itself.
  std::vector<TokenId> tokens = tokenizer.Encode(
      loaded_.chat_template().Render(messages, nullptr, nullptr),
      {.add_special = false, .parse_special = true}
  );
  if (tokens.empty()) {
    throw Error(ErrorCode::kCorruptData, "chat template: it made an empty prompt");
  }
  return tokens;
}

Answer Conversation::Ask(
    const std::string& message,
    const std::function<void(std::string_view)>& piece,
    const std::function<bool()>& stopped
) {
  nlohmann::ordered_json messages = messages_;
  messages.push_back({{"role", "user"}, {"content", message}});
  Answer answer;
  answer.prompt = PromptTokens(messages);
  RequireRoom(answer.prompt.size(), options_.max_tokens, cache_);

  // What the last turn left in the cache is kept as far as the new prompt begins with it; at least one token runs.
  const auto common = std::ranges::mismatch(cached_, answer.prompt).in1 - cached_.begin();
  const std::size_t kept = std::min(static_cast<std::size_t>(common), answer.prompt.size() - 1);
  sequence_.Truncate(kept);
  cached_.resize(sequence_.length());

  const Tokenizer& tokenizer = loaded_.tokenizer();
  AutoregressiveOptions options;
  options.max_tokens = std::min(options_.max_tokens, cache_.Context() - answer.prompt.size());
  options.stop_tokens = loaded_.stop_tokens();
  // Each turn draws on its own; the first is what a single answer with this seed is.
  const std::uint64_t seed = turn_ == 0 ? seed_ : Mix(seed_, turn_);
  Sampler sampler(
      options_.sampling,
      ChoiceSeed(seed, 0),
      loaded_.sampler_vocabulary(),
      SamplingKernelsFor(loaded_.isa())
  );
  Detokenizer detokenizer(tokenizer);
  const auto deliver = [&](const std::string& text) {
    answer.text += text;
    piece(text);
  };
  try {
    answer.result = GenerateAutoregressive(
        loaded_.model(),
        sequence_,
        {answer.prompt, options, std::move(sampler), loaded_.model().facts().context_length},
        options_.prefill_chunk,
        [&](const SampledToken& token) {
          if (answer.tokens.empty()) {
            answer.first_token_seconds = loaded_.SecondsSinceStart();
          }
          answer.tokens.push_back(token);
          deliver(detokenizer.Push(token.token));
          return true;
        },
        stopped
    );
  } catch (...) {
    sequence_.Truncate(0);
    cached_.clear();
    throw;
  }
  deliver(detokenizer.Finish());
  messages.push_back({{"role", "assistant"}, {"content", answer.text}});
  messages_ = std::move(messages);
  ++turn_;
  cached_ = answer.prompt;
  for (const SampledToken& token : answer.tokens) {
    cached_.push_back(token.token);
  }
  cached_.resize(std::min(cached_.size(), sequence_.length()));
  return answer;
}

}  // namespace hearth
