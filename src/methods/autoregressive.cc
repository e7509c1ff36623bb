#include "methods/autoregressive.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "hearth/error.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::size_t RoomFor(std::size_t prompt, std::size_t wanted, std::size_t context) {
  if (prompt == 0) {
    throw Error(ErrorCode::kInvalidArgument, "prompt: got no tokens, wanted at least one");
  }
  if (prompt > context || (prompt == context && wanted > 0)) {
    throw Error(
        ErrorCode::kResourceExhausted,
        "prompt: " + std::to_string(prompt) +
            " tokens leave no room for an answer in a context of " + std::to_string(context)
    );
  }
  return std::min(wanted, context - prompt);
}

}  // namespace

AutoregressiveRow::AutoregressiveRow(
    std::vector<TokenId> prompt,
    AutoregressiveOptions options,
    Sampler sampler,
    std::size_t context_length
)
    : tokens_(std::move(prompt)),
      prompt_tokens_(tokens_.size()),
      limit_(RoomFor(prompt_tokens_, options.max_tokens, context_length)),
      stop_tokens_(std::move(options.stop_tokens)),
      sampler_(std::move(sampler)) {
}

ForwardRow AutoregressiveRow::Feed(KvSequence& sequence, std::size_t count) const {
  const bool samples = count == Unfed(sequence) && !AtLimit();
  return {
      &sequence,
      tokens().subspan(sequence.length(), count),
      samples ? LogitSelection::kLast : LogitSelection::kNone,
  };
}

SampleRow AutoregressiveRow::Choose(std::span<float> logits) {
  return {&sampler_, logits, tokens_, generated_};
}

bool AutoregressiveRow::Take(const SampledToken& sampled) {
  if (std::ranges::find(stop_tokens_, sampled.token) != stop_tokens_.end()) {
    return false;
  }
  tokens_.push_back(sampled.token);
  ++generated_;
  return true;
}

AutoregressiveResult GenerateAutoregressive(
    LanguageModel& model,
    KvSequence& sequence,
    AutoregressiveRow row,
    std::size_t prefill_chunk,
    const TokenReceiver& receiver,
    const std::function<bool()>& cancelled
) {
  const std::size_t prompt = row.prompt().size();
  if (prompt <= sequence.length()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "prompt: got " + std::to_string(prompt) + " tokens with " +
            std::to_string(sequence.length()) + " cached, wanted at least one to run"
    );
  }
  AutoregressiveResult result;
  AutoregressiveTimings& timings = result.timings;
  timings.prompt_tokens = prompt;
  timings.cached_tokens = sequence.length();
  std::vector<float> logits(model.facts().vocabulary);
  const Clock::time_point start = Clock::now();
  Clock::time_point first_token = start;
  const auto end = [&](std::optional<FinishReason> reason) {
    (row.generated() == 0 ? timings.prefill_seconds : timings.decode_seconds) =
        SecondsSince(first_token);
    timings.generated_tokens = row.generated();
    result.reason = reason;
    return result;
  };
  while (true) {
    if (cancelled()) {
      return end(std::nullopt);
    }
    const std::size_t left = row.Unfed(sequence);
    const std::size_t count = std::min(left, std::max<std::size_t>(1, prefill_chunk));
    const ForwardRow forward = row.Feed(sequence, count);
    model.Forward({&forward, 1}, logits.data());
    timings.decode_steps += row.generated() > 0 ? 1u : 0u;
    if (count == left) {
      if (row.AtLimit()) {
        return end(FinishReason::kLength);  // nothing was asked for but the prompt
      }
      const SampleRow choice = row.Choose(logits);
      const SampledToken sampled = choice.sampler->Sample(logits, choice.history, choice.step);
      if (row.generated() == 0) {
        timings.prefill_seconds = SecondsSince(start);
        first_token = Clock::now();
      }
      if (!row.Take(sampled) || !receiver(sampled)) {
        return end(FinishReason::kStop);
      }
      if (row.AtLimit()) {
        return end(FinishReason::kLength);
      }
    }
  }
}

}  // namespace hearth
