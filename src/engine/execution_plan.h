// The execution plan: a pure function from what a request needs, what the engine can do and what the server has
// switched on to what the request will use, with the reasons for everything that it will not. It is asked once a
// request; whoever runs the request follows the plan and does not decide again.
//
// The rules, in the order in which they add reasons (A without B: A holds and B does not):
//
//   Placement. Each that applies is listed; any of them makes the mechanism serial, none makes it continuous.
//     continuous-unavailable            without the capability `continuous`
//     method-requires-serial            the model's method is not autoregressive
//     media-requires-serial             has_vision                  unless lifted by media_batch
//     adapters-require-serial           has_adapters                unless lifted by adapter_batch
//     logprobs-require-serial           wants_logprobs              unless lifted by logprob_rows
//     explicit-seed-requires-serial     user_seed                   unless lifted by seeded_rows
//     kv-scheme-requires-serial         kv_quant without `quantized_batch`
//     turbo-kv-requires-serial          turbo_quant                 unless lifted by turbo_batch
//     configured-draft-requires-serial  has_draft                   unless lifted by draft_batch
//     grammar-batching-disabled         has_grammar without `grammar_batch`
//     paged-kv-requires-serial          the feature paged_kv        unless lifted by paged_batch
//   Reasons below never change the mechanism.
//   method: speculative when the model is autoregressive and has_draft, without has_vision, has_adapters,
//     wants_logprobs, turbo_quant and the feature paged_kv, and kv_quant only with `speculative_kv_quant`; else the
//     model's own. has_draft without speculation: draft-incompatible-with-request. So a configured draft means serial
//     also for a request that cannot use it, unless lifted.
//   paged_kv: the feature, without has_vision and has_adapters; else paged-kv-bypassed-for-media-or-adapters.
//   prompt_cache: no has_vision; not speculative, unless lifted by speculative_prompt_cache; paged_kv resolved to
//     false, unless lifted by paged_prompt_cache.
//   fill: the feature, autoregressive (not speculative), serial unless lifted by batch_fill, without has_draft,
//     has_vision, user_seed, has_grammar, wants_logprobs, kv_quant and turbo_quant; else fill-incompatible-with-request.
//   checkpoint: the capability `checkpoints`, autoregressive, serial unless lifted by batch_checkpoint, prompt_cache,
//     without has_grammar, wants_logprobs and the feature fill (the feature, not what became of it). No reason of its own.
//   compiled_decode: feature and capability, autoregressive, without has_adapters; paged_kv resolved to false, unless
//     lifted by paged_compiled_decode; else compiled-decode-unavailable-for-request.
//   grammar_jump: the feature and has_grammar, autoregressive, serial unless lifted by batch_grammar_jump, without
//     wants_logprobs; with both and still refused: grammar-jump-incompatible-with-request.
//   has_repetition_penalty and has_logits_extras change nothing.
//
// With every lifting capability off the rules are the reference engine's (mlx-bun 0.3.0), reason for reason.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "contracts/execution.h"

namespace hearth {

// The conditions of the rules that a capability may lift.
enum class PlanCondition : std::uint8_t {
  kSeedRequiresSerial,
  kLogprobsRequireSerial,
  kPagedKvRequiresSerial,
  kPromptCacheRequiresUnpaged,
  kCompiledDecodeRequiresUnpaged,
  kAdaptersRequireSerial,
  kMediaRequiresSerial,
  kTurboKvRequiresSerial,
  kDraftRequiresSerial,
  kCheckpointRequiresSerial,
  kFillRequiresSerial,
  kGrammarJumpRequiresSerial,
  kPromptCacheRequiresNoSpeculation,
};

// One capability lifts one condition, and only that: what else follows from the fact behind it still follows (a
// request with logprobs, for instance, gets no checkpoint on account of logprob_rows).
struct CapabilityLift {
  bool ExecutionCapabilities::* capability;
  PlanCondition condition;
  std::string_view words;  // what no longer holds
};

// The planner reads this table; there is no second place that connects a capability with a condition.
inline constexpr std::array<CapabilityLift, 13> kCapabilityLifts = {{
    {&ExecutionCapabilities::seeded_rows,
     PlanCondition::kSeedRequiresSerial,
     "an explicit seed requires serial placement"},
    {&ExecutionCapabilities::logprob_rows,
     PlanCondition::kLogprobsRequireSerial,
     "logprobs require serial placement"},
    {&ExecutionCapabilities::paged_batch,
     PlanCondition::kPagedKvRequiresSerial,
     "the paged_kv feature requires serial placement"},
    {&ExecutionCapabilities::paged_prompt_cache,
     PlanCondition::kPromptCacheRequiresUnpaged,
     "the prompt cache requires unpaged caches"},
    {&ExecutionCapabilities::paged_compiled_decode,
     PlanCondition::kCompiledDecodeRequiresUnpaged,
     "compiled decode requires unpaged caches"},
    {&ExecutionCapabilities::adapter_batch,
     PlanCondition::kAdaptersRequireSerial,
     "adapters require serial placement"},
    {&ExecutionCapabilities::media_batch,
     PlanCondition::kMediaRequiresSerial,
     "media require serial placement"},
    {&ExecutionCapabilities::turbo_batch,
     PlanCondition::kTurboKvRequiresSerial,
     "turbo_quant requires serial placement"},
    {&ExecutionCapabilities::draft_batch,
     PlanCondition::kDraftRequiresSerial,
     "a configured draft requires serial placement"},
    {&ExecutionCapabilities::batch_checkpoint,
     PlanCondition::kCheckpointRequiresSerial,
     "checkpoints require serial placement"},
    {&ExecutionCapabilities::batch_fill,
     PlanCondition::kFillRequiresSerial,
     "fill requires serial placement"},
    {&ExecutionCapabilities::batch_grammar_jump,
     PlanCondition::kGrammarJumpRequiresSerial,
     "grammar jump requires serial placement"},
    {&ExecutionCapabilities::speculative_prompt_cache,
     PlanCondition::kPromptCacheRequiresNoSpeculation,
     "the prompt cache requires a method without speculation"},
}};

// Threads: pure. Errors: none; every combination has a plan. Cost: no allocation.
ResolvedExecution ResolveExecution(
    const ExecutionRequirements& request,
    const ExecutionCapabilities& capabilities,
    const ExecutionFeatures& features
);

}  // namespace hearth
