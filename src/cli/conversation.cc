#include "cli/conversation.h"

#include <future>
#include <memory>
#include <utility>
#include <variant>

#include "hearth/blocking.h"
#include "hearth/error.h"
#include "sampling/seed.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;
using Event = std::optional<GenerationEvent>;

constexpr std::chrono::milliseconds kAskAgain{20};  // whether to stop, while no event comes

double Seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// The next event. A signal's handler may not call the engine, so this asks.
Event NextUnlessStopped(const GenerationHandle& handle, const std::function<bool()>& stopped) {
  const auto answer = std::make_shared<std::promise<Event>>();
  handle.Next([answer](std::exception_ptr error, Event event) {
    error ? answer->set_exception(std::move(error)) : answer->set_value(std::move(event));
  });
  std::future<Event> coming = answer->get_future();
  do {
    if (stopped()) {
      handle.Cancel();
    }
  } while (coming.wait_for(kAskAgain) != std::future_status::ready);
  return coming.get();
}

void Append(std::vector<AnsweredToken>& tokens, const CommittedTokens& committed) {
  for (std::size_t i = 0; i < committed.token_ids.size(); ++i) {
    tokens.push_back({
        committed.token_ids[i],
        committed.logprobs ? (*committed.logprobs)[i] : std::nullopt,
    });
  }
}

}  // namespace

Conversation::Conversation(
    Engine& engine, const RunOptions& options, std::uint64_t seed, Clock::time_point start
)
    : engine_(engine), options_(options), seed_(seed), start_(start) {
  if (!options.system.empty()) {
    messages_.push_back({"system", options.system});
  }
}

std::vector<TokenId> Conversation::PromptTokens(const std::vector<ChatMessage>& messages) const {
  const ModelText& text = engine_.text();
  return options_.raw
             ? text.Tokenize(messages.back().content, {.add_special = true, .parse_special = true})
             : text.ChatPrompt(messages);
}

Answer Conversation::Ask(
    const std::string& message,
    const std::function<void(std::string_view)>& piece,
    const std::function<bool()>& stopped
) {
  std::vector<ChatMessage> messages = messages_;
  messages.push_back({"user", message});
  Answer answer;
  answer.prompt = PromptTokens(messages);

  SamplingParameters sampling = options_.sampling;
  // Each turn draws on its own; the first is what a single answer with this seed is.
  sampling.seed = turn_ == 0 ? seed_ : Mix(seed_, turn_);
  GenerationRequest request = engine_.MakeRequest(answer.prompt, std::move(sampling));
  request.max_tokens = options_.max_tokens;
  request.session_id = "conversation";

  const std::uint64_t cached_before = engine_.Gauges().cached_tokens;
  const Clock::time_point asked = Clock::now();
  Clock::time_point first = asked;
  TextStream text = engine_.text().Stream();
  const auto deliver = [&](const std::string& part) {
    answer.text += part;
    piece(part);
  };
  const GenerationHandle handle = blocking::Open(engine_, std::move(request));
  while (const Event event = NextUnlessStopped(handle, stopped)) {
    if (const auto* committed = std::get_if<CommittedTokens>(&*event)) {
      if (answer.tokens.empty()) {
        first = Clock::now();
        answer.first_token_seconds = Seconds(start_, first);
      }
      Append(answer.tokens, *committed);
      deliver(text.Push(committed->token_ids));
    }
  }
  deliver(text.Finish());

  const GenerationOutcome outcome = blocking::Result(handle);
  const auto* cancelled = std::get_if<GenerationOutcome::Cancelled>(&outcome.end);
  if (cancelled != nullptr && cancelled->reason == CancelReason::kRequested) {
    const Clock::time_point now = Clock::now();
    answer.metrics = {
        .prompt_tokens = answer.prompt.size(),
        .cached_prompt_tokens = engine_.Gauges().cached_tokens - cached_before,
        .generated_tokens = answer.tokens.size(),
        .decode_steps = answer.tokens.empty() ? 0 : answer.tokens.size() - 1,
        .prefill_seconds = Seconds(asked, answer.tokens.empty() ? now : first),
        .decode_seconds = answer.tokens.empty() ? 0 : Seconds(first, now),
    };
  } else {
    const MethodResult& result = blocking::Completed(outcome);
    answer.reason = result.finish_reason;
    answer.metrics = result.metrics;
  }
  messages.push_back({"assistant", answer.text});
  messages_ = std::move(messages);
  ++turn_;
  return answer;
}

}  // namespace hearth
