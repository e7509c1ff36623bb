#include "conformance/session_values.h"

#include <limits>
#include <stdexcept>
#include <utility>
#include <variant>

namespace hearth::conformance {

CancelReason ReasonOf(const std::string& name) {
  for (const CancelReason reason :
       {CancelReason::kRequested,
        CancelReason::kConsumerClosed,
        CancelReason::kConsumerIdle,
        CancelReason::kEngineClosed}) {
    if (CancelReasonName(reason) == name) {
      return reason;
    }
  }
  throw std::runtime_error("the suite has no reason " + name);
}

OutputMode ModeOf(const std::string& name) {
  for (const OutputMode mode : {OutputMode::kStream, OutputMode::kCollect, OutputMode::kCallback}) {
    if (OutputModeName(mode) == name) {
      return mode;
    }
  }
  throw std::runtime_error("the suite has no output " + name);
}

double NumberOf(const Json& value) {
  if (!value.is_string()) {
    return value.get<double>();
  }
  return value == "nan" ? std::numeric_limits<double>::quiet_NaN()
                        : std::numeric_limits<double>::infinity();
}

std::vector<std::optional<TokenLogprobs>> LogprobsOf(const Json& items) {
  std::vector<std::optional<TokenLogprobs>> result;
  for (const Json& item : items) {
    if (item.is_null()) {
      result.emplace_back();
      continue;
    }
    TokenLogprobs& entry = result.emplace_back(std::in_place).value();
    if (item.contains("logprob")) {
      entry.logprob = item.at("logprob").get<float>();
    }
    if (item.contains("top")) {
      entry.top.emplace();
      for (const Json& top : item.at("top")) {
        entry.top->push_back({top.at("id").get<TokenId>(), top.at("logprob").get<float>()});
      }
    }
  }
  return result;
}

Json LogprobsJson(std::span<const std::optional<TokenLogprobs>> items) {
  Json result = Json::array();
  for (const std::optional<TokenLogprobs>& item : items) {
    Json entry;
    if (item) {
      entry = Json::object();
      if (item->logprob) {
        entry["logprob"] = *item->logprob;
      }
      if (item->top) {
        entry["top"] = Json::array();
        for (const TopLogprob& top : *item->top) {
          entry["top"].push_back({{"id", top.id}, {"logprob", top.logprob}});
        }
      }
    }
    result.push_back(entry);
  }
  return result;
}

Json EventJson(const GenerationEvent& event) {
  if (const auto* progress = std::get_if<GenerationProgress>(&event)) {
    Json json = {{"type", "progress"}, {"completed", progress->completed}};
    if (progress->total) {
      json["total"] = *progress->total;
    }
    return json;
  }
  const auto& committed = std::get<CommittedTokens>(event);
  Json json = {
      {"type", "committed"}, {"sequence", committed.sequence}, {"token_ids", committed.token_ids}
  };
  if (committed.logprobs) {
    json["logprobs"] = LogprobsJson(*committed.logprobs);
  }
  return json;
}

Json OutcomeJson(const GenerationOutcome& outcome) {
  Json json = {
      {"status", OutcomeStatusName(outcome)}, {"committed_tokens", outcome.committed_tokens}
  };
  if (outcome.output) {
    json["output"] = *outcome.output;
  }
  if (const auto* completed = std::get_if<GenerationOutcome::Completed>(&outcome.end)) {
    json["result"] = {{"finish_reason", FinishReasonName(completed->result.finish_reason)}};
  } else if (const auto* cancelled = std::get_if<GenerationOutcome::Cancelled>(&outcome.end)) {
    json["reason"] = CancelReasonName(cancelled->reason);
  } else {
    const auto& failed = std::get<GenerationOutcome::Failed>(outcome.end);
    json["error"] = {{"code", FailureCodeName(failed.code)}, {"message", failed.message}};
    if (failed.cleanup_error) {
      json["error"]["cleanup_error"] = *failed.cleanup_error;
    }
  }
  return json;
}

}  // namespace hearth::conformance
