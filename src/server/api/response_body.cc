#include "server/api/response_body.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace hearth::api {
namespace {

Json HeadBody(const AnswerHead& head, std::string_view object) {
  return {
      {"id", head.id},
      {"object", object},
      {"created", head.created},
      {"model", head.model},
      {"system_fingerprint",
       head.system_fingerprint.empty() ? Json() : Json(head.system_fingerprint)}
  };
}

// Units: milliseconds per token and tokens per second, 0 when nothing was counted or timed.
double Share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

Json ChoiceBody(
    AnswerKind kind, std::size_t index, const ChoiceAnswer& choice, const TokenBytes& bytes_of
) {
  Json body = {{"index", index}};
  if (kind == AnswerKind::kCompletion) {
    body["text"] = choice.text.content;
  } else {
    Json message = {{"role", "assistant"}, {"content", choice.text.content}, {"refusal", nullptr}};
    if (!choice.text.reasoning.empty()) {
      message["reasoning_content"] = choice.text.reasoning;
    }
    body["message"] = std::move(message);
  }
  if (!bytes_of) {
    body["logprobs"] = nullptr;
  } else {
    body["logprobs"] = kind == AnswerKind::kChat
                           ? ChatLogprobs(choice.text.logprobs, bytes_of)
                           : CompletionLogprobs(choice.text.logprobs, bytes_of);
  }
  body["finish_reason"] = FinishReasonJson(choice.finish_reason);
  return body;
}

}  // namespace

std::string AnswerId(AnswerKind kind, std::uint64_t high, std::uint64_t low) {
  return fmt::format(
      "{}-{:016x}{:016x}", kind == AnswerKind::kChat ? "chatcmpl" : "cmpl", high, low
  );
}

Json FinishReasonJson(std::optional<FinishReason> reason) {
  return reason ? Json(FinishReasonName(*reason)) : Json();
}

Json UsageBody(const UsageCounts& usage) {
  return {
      {"prompt_tokens", usage.prompt_tokens},
      {"completion_tokens", usage.completion_tokens},
      {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
      {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
      {"completion_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}}
  };
}

Json TimingsBody(std::span<const GenerationMetrics> choices) {
  GenerationMetrics all;
  for (const GenerationMetrics& choice : choices) {
    all.prompt_tokens = std::max(all.prompt_tokens, choice.prompt_tokens);
    all.cached_prompt_tokens = std::max(all.cached_prompt_tokens, choice.cached_prompt_tokens);
    all.generated_tokens += choice.generated_tokens;
    all.queue_seconds = std::max(all.queue_seconds, choice.queue_seconds);
    all.prefill_seconds = std::max(all.prefill_seconds, choice.prefill_seconds);
    all.decode_seconds = std::max(all.decode_seconds, choice.decode_seconds);
  }
  const auto computed = all.prompt_tokens - std::min(all.prompt_tokens, all.cached_prompt_tokens);
  const auto prompt = static_cast<double>(computed);
  const auto generated = static_cast<double>(all.generated_tokens);
  const double prompt_ms = all.prefill_seconds * 1e3;
  const double predicted_ms = all.decode_seconds * 1e3;
  return {
      {"queue_ms", all.queue_seconds * 1e3},
      {"cache_n", all.cached_prompt_tokens},
      {"prompt_n", computed},
      {"prompt_ms", prompt_ms},
      {"prompt_per_token_ms", Share(prompt_ms, prompt)},
      {"prompt_per_second", Share(prompt, all.prefill_seconds)},
      {"predicted_n", all.generated_tokens},
      {"predicted_ms", predicted_ms},
      {"predicted_per_token_ms", Share(predicted_ms, generated)},
      {"predicted_per_second", Share(generated, all.decode_seconds)}
  };
}

Json AnswerBody(
    const AnswerHead& head,
    std::span<const ChoiceAnswer> choices,
    const UsageCounts& usage,
    const Json& timings,
    const TokenBytes& bytes_of
) {
  Json body =
      HeadBody(head, head.kind == AnswerKind::kChat ? "chat.completion" : "text_completion");
  Json& array = body["choices"] = Json::array();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    array.push_back(ChoiceBody(head.kind, i, choices[i], bytes_of));
  }
  body["usage"] = UsageBody(usage);
  if (head.seed) {
    body["seed"] = *head.seed;
  }
  if (!timings.is_null()) {
    body["timings"] = timings;
  }
  return body;
}

Json ChunkBody(const AnswerHead& head, Json choices) {
  Json body =
      HeadBody(head, head.kind == AnswerKind::kChat ? "chat.completion.chunk" : "text_completion");
  body["choices"] = std::move(choices);
  return body;
}

}  // namespace hearth::api
