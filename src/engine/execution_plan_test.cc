#include "engine/execution_plan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace hearth {
namespace {

// The reference's behaviour is proved by the conformance suite. Here: what the lifting capabilities add to it.

struct Inputs {
  ExecutionRequirements request;
  ExecutionCapabilities capabilities;
  ExecutionFeatures features;
};

constexpr std::uint32_t kCombinations = std::uint32_t{1} << 21U;

// All of them, except under the thread sanitizer, which has nothing to find here and takes a minute for it.
#ifdef __SANITIZE_THREAD__
constexpr std::uint32_t kStride = 97;
#else
constexpr std::uint32_t kStride = 1;
#endif

// Every combination of the request, the reference's capabilities, the features and the method, by number.
Inputs Combination(std::uint32_t index) {
  Inputs inputs;
  const auto next_bit = [&index] {
    const bool bit = (index & 1U) != 0;
    index >>= 1U;
    return bit;
  };
  for (const auto& field : kRequirementFields) {
    inputs.request.*field.field = next_bit();
  }
  for (std::size_t i = 0; i < kReferenceCapabilityCount; ++i) {
    inputs.capabilities.*kCapabilityFields[i].field = next_bit();
  }
  for (const auto& field : kFeatureFields) {
    inputs.features.*field.field = next_bit();
  }
  inputs.capabilities.method =
      next_bit() ? ExecutionMethod::kDenoising : ExecutionMethod::kAutoregressive;
  return inputs;
}

ResolvedExecution Resolve(const Inputs& inputs) {
  return ResolveExecution(inputs.request, inputs.capabilities, inputs.features);
}

// A plan that can be written to.
struct Draft {
  ExecutionMethod method;
  ExecutionMechanism mechanism;
  bool paged_kv, prompt_cache, checkpoint, fill, compiled_decode, grammar_jump;
  PlanReasons reasons;

  explicit Draft(const ResolvedExecution& plan)
      : method(plan.method),
        mechanism(plan.mechanism),
        paged_kv(plan.paged_kv),
        prompt_cache(plan.prompt_cache),
        checkpoint(plan.checkpoint),
        fill(plan.fill),
        compiled_decode(plan.compiled_decode),
        grammar_jump(plan.grammar_jump),
        reasons(plan.reasons) {}

  ResolvedExecution Done() const {
    return {
        method,
        mechanism,
        paged_kv,
        prompt_cache,
        checkpoint,
        fill,
        compiled_decode,
        grammar_jump,
        reasons
    };
  }

  void Remove(PlanReason removed) {
    const PlanReasons before = reasons;
    reasons = {};
    for (std::size_t i = 0; i < kPlanReasonCount; ++i) {
      const auto reason = static_cast<PlanReason>(i);
      if (before.Contains(reason) && reason != removed) {
        reasons.Add(reason);
      }
    }
  }
};

bool IsPlacementReason(PlanReason reason) {
  return reason <= PlanReason::kPagedKvRequiresSerial;
}

bool HasPlacementReason(const PlanReasons& reasons) {
  for (std::size_t i = 0; i < kPlanReasonCount; ++i) {
    const auto reason = static_cast<PlanReason>(i);
    if (IsPlacementReason(reason) && reasons.Contains(reason)) {
      return true;
    }
  }
  return false;
}

// What may follow when one reason for serial placement goes: that reason; and if it was the only one, the mechanism and
// what only a serial request may use.
ResolvedExecution WithoutExclusion(
    const Inputs& inputs, const ResolvedExecution& base, PlanReason reason
) {
  Draft draft(base);
  draft.Remove(reason);
  if (base.mechanism == ExecutionMechanism::kSerial && !HasPlacementReason(draft.reasons)) {
    draft.mechanism = ExecutionMechanism::kContinuous;
    draft.fill = draft.checkpoint = draft.grammar_jump = false;
    if (inputs.features.fill) {
      draft.reasons.Add(PlanReason::kFillIncompatible);
    }
    if (inputs.features.grammar_jump && inputs.request.has_grammar) {
      draft.reasons.Add(PlanReason::kGrammarJumpIncompatible);
    }
  }
  return draft.Done();
}

bool MayCheckpoint(const Inputs& inputs) {
  return inputs.capabilities.checkpoints &&
         inputs.capabilities.method == ExecutionMethod::kAutoregressive &&
         !inputs.request.has_grammar && !inputs.request.wants_logprobs && !inputs.features.fill;
}

// The plan that lifting one condition must give, derived from the plan without it.
ResolvedExecution Expected(
    const Inputs& inputs, const ResolvedExecution& base, PlanCondition lifted
) {
  const bool continuous = base.mechanism == ExecutionMechanism::kContinuous;
  Draft draft(base);
  switch (lifted) {
    case PlanCondition::kSeedRequiresSerial:
      return WithoutExclusion(inputs, base, PlanReason::kExplicitSeedRequiresSerial);
    case PlanCondition::kLogprobsRequireSerial:
      return WithoutExclusion(inputs, base, PlanReason::kLogprobsRequireSerial);
    case PlanCondition::kPagedKvRequiresSerial:
      return WithoutExclusion(inputs, base, PlanReason::kPagedKvRequiresSerial);
    case PlanCondition::kAdaptersRequireSerial:
      return WithoutExclusion(inputs, base, PlanReason::kAdaptersRequireSerial);
    case PlanCondition::kMediaRequiresSerial:
      return WithoutExclusion(inputs, base, PlanReason::kMediaRequiresSerial);
    case PlanCondition::kTurboKvRequiresSerial:
      return WithoutExclusion(inputs, base, PlanReason::kTurboKvRequiresSerial);
    case PlanCondition::kDraftRequiresSerial:
      return WithoutExclusion(inputs, base, PlanReason::kConfiguredDraftRequiresSerial);
    case PlanCondition::kPromptCacheRequiresUnpaged:
      if (base.paged_kv) {
        draft.prompt_cache = true;
        draft.checkpoint = MayCheckpoint(inputs);  // the paged_kv feature keeps it serial
      }
      break;
    case PlanCondition::kPromptCacheRequiresNoSpeculation:
      draft.prompt_cache |= base.method == ExecutionMethod::kSpeculative;
      break;
    case PlanCondition::kCompiledDecodeRequiresUnpaged:
      if (base.paged_kv && inputs.features.compiled_decode && inputs.capabilities.compiled_decode &&
          base.method == ExecutionMethod::kAutoregressive) {
        draft.compiled_decode = true;
        draft.Remove(PlanReason::kCompiledDecodeUnavailable);
      }
      break;
    case PlanCondition::kCheckpointRequiresSerial:
      draft.checkpoint |= continuous && base.prompt_cache && MayCheckpoint(inputs);
      break;
    case PlanCondition::kFillRequiresSerial:
      // The other conditions of fill exclude from the batch already.
      if (continuous && inputs.features.fill && !inputs.request.has_grammar &&
          !inputs.request.kv_quant) {
        draft.fill = true;
        draft.Remove(PlanReason::kFillIncompatible);
      }
      break;
    case PlanCondition::kGrammarJumpRequiresSerial:
      if (continuous && inputs.features.grammar_jump && inputs.request.has_grammar) {
        draft.grammar_jump = true;
        draft.Remove(PlanReason::kGrammarJumpIncompatible);
      }
      break;
  }
  return draft.Done();
}

// Which capability is meant to lift what: written a second time, so that a slip in the planner's table shows.
constexpr std::array<std::pair<bool ExecutionCapabilities::*, PlanCondition>, 13> kMeant = {{
    {&ExecutionCapabilities::seeded_rows, PlanCondition::kSeedRequiresSerial},
    {&ExecutionCapabilities::logprob_rows, PlanCondition::kLogprobsRequireSerial},
    {&ExecutionCapabilities::paged_batch, PlanCondition::kPagedKvRequiresSerial},
    {&ExecutionCapabilities::paged_prompt_cache, PlanCondition::kPromptCacheRequiresUnpaged},
    {&ExecutionCapabilities::paged_compiled_decode, PlanCondition::kCompiledDecodeRequiresUnpaged},
    {&ExecutionCapabilities::adapter_batch, PlanCondition::kAdaptersRequireSerial},
    {&ExecutionCapabilities::media_batch, PlanCondition::kMediaRequiresSerial},
    {&ExecutionCapabilities::turbo_batch, PlanCondition::kTurboKvRequiresSerial},
    {&ExecutionCapabilities::draft_batch, PlanCondition::kDraftRequiresSerial},
    {&ExecutionCapabilities::batch_checkpoint, PlanCondition::kCheckpointRequiresSerial},
    {&ExecutionCapabilities::batch_fill, PlanCondition::kFillRequiresSerial},
    {&ExecutionCapabilities::batch_grammar_jump, PlanCondition::kGrammarJumpRequiresSerial},
    {&ExecutionCapabilities::speculative_prompt_cache,
     PlanCondition::kPromptCacheRequiresNoSpeculation},
}};

std::string Name(bool ExecutionCapabilities::* capability) {
  for (const auto& field : kCapabilityFields) {
    if (field.field == capability) {
      return std::string(field.name);
    }
  }
  return "unnamed";
}

TEST(ExecutionPlan, EachLiftAloneChangesOnlyWhatItLifts) {
  std::array<std::uint32_t, kMeant.size()> changed{};
  for (std::uint32_t index = 0; index < kCombinations; index += kStride) {
    Inputs inputs = Combination(index);
    const ResolvedExecution base = Resolve(inputs);
    for (std::size_t i = 0; i < kMeant.size(); ++i) {
      const auto& [capability, condition] = kMeant[i];
      inputs.capabilities.*capability = true;
      const ResolvedExecution plan = Resolve(inputs);
      ASSERT_TRUE(plan == Expected(inputs, base, condition))
          << Name(capability) << " at combination " << index;
      changed[i] += plan == base ? 0U : 1U;
      inputs.capabilities.*capability = false;
    }
  }
  for (std::size_t i = 0; i < kMeant.size(); ++i) {
    EXPECT_GT(changed[i], 0U) << Name(kMeant[i].first) << " lifts nothing";
  }
}

// The fields as data are complete: the table, and what is listed after the reference's capabilities, are the same.
TEST(ExecutionPlan, LiftingCapabilitiesAreNamedAndListedInTheTable) {
  ASSERT_EQ(kCapabilityLifts.size() + kReferenceCapabilityCount, kCapabilityFields.size());
  for (std::size_t i = 0; i < kCapabilityLifts.size(); ++i) {
    EXPECT_EQ(
        kCapabilityLifts[i].capability, kCapabilityFields[kReferenceCapabilityCount + i].field
    );
  }
}

// With everything that can be lifted lifted, and the reference's own capabilities for batches, no request of an
// autoregressive model needs to run alone.
TEST(ExecutionPlan, AllLiftsTogetherLeaveNothingSerial) {
  for (std::uint32_t index = 0; index < kCombinations; index += kStride) {
    Inputs inputs = Combination(index);
    if (inputs.capabilities.method != ExecutionMethod::kAutoregressive) {
      continue;
    }
    inputs.capabilities.continuous = inputs.capabilities.quantized_batch =
        inputs.capabilities.grammar_batch = true;
    for (const CapabilityLift& lift : kCapabilityLifts) {
      inputs.capabilities.*lift.capability = true;
    }
    ASSERT_EQ(Resolve(inputs).mechanism, ExecutionMechanism::kContinuous) << index;
  }
}

TEST(PlanReasons, AreListedInTheOrderOfTheRules) {
  PlanReasons reasons;
  EXPECT_TRUE(reasons.empty());
  reasons.Add(PlanReason::kGrammarJumpIncompatible);
  reasons.Add(PlanReason::kMediaRequiresSerial);
  reasons.Add(PlanReason::kMediaRequiresSerial);
  EXPECT_EQ(reasons.size(), 2U);
  EXPECT_EQ(
      reasons.Texts(),
      (std::vector<std::string_view>{
          "media-requires-serial", "grammar-jump-incompatible-with-request"
      })
  );
}

}  // namespace
}  // namespace hearth
