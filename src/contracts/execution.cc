#include "contracts/execution.h"

namespace hearth {

std::string_view ExecutionMethodName(ExecutionMethod method) {
  switch (method) {
    case ExecutionMethod::kAutoregressive:
      return "autoregressive";
    case ExecutionMethod::kDenoising:
      return "denoising";
    case ExecutionMethod::kSpeculative:
      return "speculative";
  }
  return "autoregressive";
}

std::string_view ExecutionMechanismName(ExecutionMechanism mechanism) {
  return mechanism == ExecutionMechanism::kSerial ? "serial" : "continuous";
}

std::string_view PlanReasonText(PlanReason reason) {
  switch (reason) {
    case PlanReason::kContinuousUnavailable:
      return "continuous-unavailable";
    case PlanReason::kMethodRequiresSerial:
      return "method-requires-serial";
    case PlanReason::kMediaRequiresSerial:
      return "media-requires-serial";
    case PlanReason::kAdaptersRequireSerial:
      return "adapters-require-serial";
    case PlanReason::kLogprobsRequireSerial:
      return "logprobs-require-serial";
    case PlanReason::kExplicitSeedRequiresSerial:
      return "explicit-seed-requires-serial";
    case PlanReason::kKvSchemeRequiresSerial:
      return "kv-scheme-requires-serial";
    case PlanReason::kTurboKvRequiresSerial:
      return "turbo-kv-requires-serial";
    case PlanReason::kConfiguredDraftRequiresSerial:
      return "configured-draft-requires-serial";
    case PlanReason::kGrammarBatchingDisabled:
      return "grammar-batching-disabled";
    case PlanReason::kPagedKvRequiresSerial:
      return "paged-kv-requires-serial";
    case PlanReason::kDraftIncompatible:
      return "draft-incompatible-with-request";
    case PlanReason::kPagedKvBypassed:
      return "paged-kv-bypassed-for-media-or-adapters";
    case PlanReason::kFillIncompatible:
      return "fill-incompatible-with-request";
    case PlanReason::kCompiledDecodeUnavailable:
      return "compiled-decode-unavailable-for-request";
    case PlanReason::kGrammarJumpIncompatible:
      return "grammar-jump-incompatible-with-request";
  }
  return "";
}

std::vector<std::string_view> PlanReasons::Texts() const {
  std::vector<std::string_view> texts;
  for (std::size_t i = 0; i < kPlanReasonCount; ++i) {
    if (Contains(static_cast<PlanReason>(i))) {
      texts.push_back(PlanReasonText(static_cast<PlanReason>(i)));
    }
  }
  return texts;
}

}  // namespace hearth
