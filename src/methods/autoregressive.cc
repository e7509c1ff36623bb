#include "methods/autoregressive.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "hearth/error.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void CheckPrompt(const LanguageModel& model, const KvSequence& sequence, std::size_t prompt) {
  const std::size_t context = model.facts().context_length;
  if (prompt <= sequence.length()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "prompt: got " + std::to_string(prompt) + " tokens with " +
            std::to_string(sequence.length()) + " cached, wanted at least one to run"
    );
  }
  if (prompt >= context) {
    throw Error(
        ErrorCode::kResourceExhausted,
        "prompt: " + std::to_string(prompt) +
            " tokens leave no room for an answer in a context of " + std::to_string(context)
    );
  }
}

}  // namespace

AutoregressiveResult GenerateAutoregressive(
    LanguageModel& model,
    KvSequence& sequence,
    Sampler& sampler,
    std::span<const TokenId> prompt,
    const AutoregressiveOptions& options,
    const TokenReceiver& receiver,
    const std::function<bool()>& cancelled
) {
  CheckPrompt(model, sequence, prompt.size());
  AutoregressiveResult result;
  AutoregressiveTimings& timings = result.timings;
  timings.prompt_tokens = prompt.size();
  timings.cached_tokens = sequence.length();
  std::vector<TokenId> history(prompt.begin(), prompt.end());
  std::vector<float> logits(model.facts().vocabulary);
  const Clock::time_point start = Clock::now();
  while (sequence.length() < prompt.size()) {
    if (cancelled()) {
      result.reason = FinishReason::kCancelled;
      timings.prefill_seconds = SecondsSince(start);
      return result;
    }
    const std::size_t left = prompt.size() - sequence.length();
    const std::size_t count = std::min(left, std::max<std::size_t>(1, options.prefill_chunk));
    const ForwardRow row{
        &sequence,
        prompt.subspan(sequence.length(), count),
        count == left ? LogitSelection::kLast : LogitSelection::kNone,
    };
    model.Forward({&row, 1}, logits.data());
  }
  Clock::time_point decode_start = start;
  const std::size_t room = model.facts().context_length - prompt.size();
  const std::size_t limit = std::min(options.max_tokens, room);
  for (std::size_t step = 0;; ++step) {
    const SampledToken sampled = sampler.Sample(logits, history, step);
    if (step == 0) {
      timings.prefill_seconds = SecondsSince(start);
      decode_start = Clock::now();
    }
    if (std::ranges::find(options.stop_tokens, sampled.token) != options.stop_tokens.end()) {
      break;
    }
    ++timings.generated_tokens;
    if (!receiver(sampled)) {
      break;
    }
    if (cancelled()) {
      result.reason = FinishReason::kCancelled;
      break;
    }
    if (timings.generated_tokens == limit) {
      result.reason = FinishReason::kLength;
      break;
    }
    history.push_back(sampled.token);
    const ForwardRow row{&sequence, {&history.back(), 1}, LogitSelection::kLast};
    model.Forward({&row, 1}, logits.data());
    ++timings.decode_steps;
  }
  timings.decode_seconds = SecondsSince(decode_start);
  return result;
}

}  // namespace hearth
