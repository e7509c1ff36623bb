#include "engine/execution_plan.h"

namespace hearth {
namespace {

// The conditions that still stand under some capabilities.
class StandingConditions {
 public:
  explicit StandingConditions(const ExecutionCapabilities& capabilities) {
    for (const CapabilityLift& lift : kCapabilityLifts) {
      if (capabilities.*lift.capability) {
        lifted_ |= Bit(lift.condition);
      }
    }
  }

  bool Stands(PlanCondition condition) const { return (lifted_ & Bit(condition)) == 0; }

 private:
  static std::uint32_t Bit(PlanCondition condition) {
    return std::uint32_t{1} << static_cast<unsigned>(condition);
  }

  std::uint32_t lifted_ = 0;
};

PlanReasons PlacementExclusions(
    const ExecutionRequirements& request,
    const ExecutionCapabilities& capabilities,
    const ExecutionFeatures& features,
    const StandingConditions& conditions
) {
  using enum PlanCondition;

  struct Exclusion {
    bool applies;
    PlanReason reason;
  };

  const auto unless_lifted = [&](bool fact, PlanCondition condition) {
    return fact && conditions.Stands(condition);
  };
  const Exclusion exclusions[] = {
      {!capabilities.continuous, PlanReason::kContinuousUnavailable},
      {capabilities.method != ExecutionMethod::kAutoregressive, PlanReason::kMethodRequiresSerial},
      {unless_lifted(request.has_vision, kMediaRequiresSerial), PlanReason::kMediaRequiresSerial},
      {unless_lifted(request.has_adapters, kAdaptersRequireSerial),
       PlanReason::kAdaptersRequireSerial},
      {unless_lifted(request.wants_logprobs, kLogprobsRequireSerial),
       PlanReason::kLogprobsRequireSerial},
      {unless_lifted(request.user_seed, kSeedRequiresSerial),
       PlanReason::kExplicitSeedRequiresSerial},
      {request.kv_quant && !capabilities.quantized_batch, PlanReason::kKvSchemeRequiresSerial},
      {unless_lifted(request.turbo_quant, kTurboKvRequiresSerial),
       PlanReason::kTurboKvRequiresSerial},
      {unless_lifted(request.has_draft, kDraftRequiresSerial),
       PlanReason::kConfiguredDraftRequiresSerial},
      {request.has_grammar && !capabilities.grammar_batch, PlanReason::kGrammarBatchingDisabled},
      {unless_lifted(features.paged_kv, kPagedKvRequiresSerial),
       PlanReason::kPagedKvRequiresSerial},
  };
  PlanReasons reasons;
  for (const Exclusion& exclusion : exclusions) {
    if (exclusion.applies) {
      reasons.Add(exclusion.reason);
    }
  }
  return reasons;
}

}  // namespace

ResolvedExecution ResolveExecution(
    const ExecutionRequirements& request,
    const ExecutionCapabilities& capabilities,
    const ExecutionFeatures& features
) {
  using enum PlanCondition;
  const StandingConditions conditions(capabilities);
  PlanReasons reasons = PlacementExclusions(request, capabilities, features, conditions);
  const bool serial = !reasons.empty();

  const bool speculative = capabilities.method == ExecutionMethod::kAutoregressive &&
                           request.has_draft && !request.has_vision && !request.has_adapters &&
                           !request.wants_logprobs &&
                           (!request.kv_quant || capabilities.speculative_kv_quant) &&
                           !request.turbo_quant && !features.paged_kv;
  const bool autoregressive =
      capabilities.method == ExecutionMethod::kAutoregressive && !speculative;

  const bool paged_kv = features.paged_kv && !request.has_vision && !request.has_adapters;

  const bool prompt_cache =
      !request.has_vision &&
      !(speculative && conditions.Stands(kPromptCacheRequiresNoSpeculation)) &&
      !(paged_kv && conditions.Stands(kPromptCacheRequiresUnpaged));

  const bool fill = features.fill && autoregressive &&
                    (serial || !conditions.Stands(kFillRequiresSerial)) && !request.has_draft &&
                    !request.has_vision && !request.user_seed && !request.has_grammar &&
                    !request.wants_logprobs && !request.kv_quant && !request.turbo_quant;

  const bool checkpoint = capabilities.checkpoints && autoregressive &&
                          (serial || !conditions.Stands(kCheckpointRequiresSerial)) &&
                          prompt_cache && !request.has_grammar && !request.wants_logprobs &&
                          !features.fill;

  const bool compiled_decode = features.compiled_decode && capabilities.compiled_decode &&
                               autoregressive && !request.has_adapters &&
                               !(paged_kv && conditions.Stands(kCompiledDecodeRequiresUnpaged));

  const bool may_jump = features.grammar_jump && request.has_grammar;
  const bool grammar_jump = may_jump && autoregressive &&
                            (serial || !conditions.Stands(kGrammarJumpRequiresSerial)) &&
                            !request.wants_logprobs;

  const auto add_if = [&](bool refused, PlanReason reason) {
    if (refused) {
      reasons.Add(reason);
    }
  };
  add_if(request.has_draft && !speculative, PlanReason::kDraftIncompatible);
  add_if(features.paged_kv && !paged_kv, PlanReason::kPagedKvBypassed);
  add_if(features.fill && !fill, PlanReason::kFillIncompatible);
  add_if(features.compiled_decode && !compiled_decode, PlanReason::kCompiledDecodeUnavailable);
  add_if(may_jump && !grammar_jump, PlanReason::kGrammarJumpIncompatible);

  return {
      .method = speculative ? ExecutionMethod::kSpeculative : capabilities.method,
      .mechanism = serial ? ExecutionMechanism::kSerial : ExecutionMechanism::kContinuous,
      .paged_kv = paged_kv,
      .prompt_cache = prompt_cache,
      .checkpoint = checkpoint,
      .fill = fill,
      .compiled_decode = compiled_decode,
      .grammar_jump = grammar_jump,
      .reasons = reasons,
  };
}

}  // namespace hearth
