// What a request needs, what an engine can do, what a server has switched on, and what comes out of the three: the
// execution plan. Values only; engine/execution_plan.h holds the rules.
//
// The fields are also listed as data (k...Fields), in the order of their declaration, so that whatever reads, prints or
// counts them (JSON, the command line, tests over all combinations) cannot forget one.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hearth {

// How tokens come about. A model's own method is one of the first two; speculation is what a plan makes of the first.
enum class ExecutionMethod : std::uint8_t { kAutoregressive, kDenoising, kSpeculative };

// Where a request runs: alone, or as a row of the running batch.
enum class ExecutionMechanism : std::uint8_t { kSerial, kContinuous };

// "autoregressive", "denoising", "speculative".
std::string_view ExecutionMethodName(ExecutionMethod method);

// "serial", "continuous".
std::string_view ExecutionMechanismName(ExecutionMechanism mechanism);

// Facts about one request. A field is true when the request asks for the thing, false (the default) when it does not.
struct ExecutionRequirements {
  bool has_vision = false;              // images or other media are part of the prompt
  bool has_adapters = false;            // adapter weights are mounted for it
  bool has_repetition_penalty = false;  // changes no plan: processors work a row
  bool user_seed = false;    // the request names its seed; a default drawn by us does not count
  bool kv_quant = false;     // its cache uses an affine quantized format
  bool turbo_quant = false;  // its cache uses a rotated quantized format
  bool has_logits_extras = false;  // min-p, XTC, biases, presence or frequency: changes no plan
  bool has_grammar = false;        // its output is held to a grammar that has been compiled
  bool wants_logprobs = false;
  bool has_draft = false;  // the server has a draft model mounted: true of every request then
};

// What a model and its engine can do. The first block is the reference engine's; each flag of the second lifts exactly
// one condition of the rules (kCapabilityLifts in engine/execution_plan.h) and is off unless the engine sets it.
struct ExecutionCapabilities {
  ExecutionMethod method = ExecutionMethod::kAutoregressive;  // never kSpeculative
  bool continuous = false;                                    // can run rows in a batch at all
  bool quantized_batch = false;                               // rows of a batch may have kv_quant
  bool grammar_batch = false;                                 // rows of a batch may have grammars
  bool checkpoints = false;                                   // can save a running request
  bool speculative_kv_quant = false;                          // speculation works over kv_quant
  bool compiled_decode = false;                               // has a compiled decode step

  bool seeded_rows = false;
  bool logprob_rows = false;
  bool paged_batch = false;
  bool paged_prompt_cache = false;
  bool paged_compiled_decode = false;
  bool adapter_batch = false;
  bool media_batch = false;
  bool turbo_batch = false;
  bool draft_batch = false;
  bool batch_checkpoint = false;
  bool batch_fill = false;
  bool batch_grammar_jump = false;
  bool speculative_prompt_cache = false;
};

// What the server's configuration has switched on.
struct ExecutionFeatures {
  bool paged_kv = false;         // caches are kept in pages
  bool fill = false;             // tokens that are certain are filled in without a step each
  bool compiled_decode = false;  // use the compiled decode step where there is one
  bool grammar_jump = false;     // skip ahead where the grammar leaves one choice
};

// Why a plan is not more than it is. The order of the list is the order in which the rules add them.
enum class PlanReason : std::uint8_t {
  kContinuousUnavailable,
  kMethodRequiresSerial,
  kMediaRequiresSerial,
  kAdaptersRequireSerial,
  kLogprobsRequireSerial,
  kExplicitSeedRequiresSerial,
  kKvSchemeRequiresSerial,
  kTurboKvRequiresSerial,
  kConfiguredDraftRequiresSerial,
  kGrammarBatchingDisabled,
  kPagedKvRequiresSerial,
  kDraftIncompatible,
  kPagedKvBypassed,
  kFillIncompatible,
  kCompiledDecodeUnavailable,
  kGrammarJumpIncompatible,
};

inline constexpr std::size_t kPlanReasonCount = 16;

// The stable text, for example "media-requires-serial": part of the interface, tools match on it.
std::string_view PlanReasonText(PlanReason reason);

// Reasons in their order, each at most once. The rules add every reason at one place, so order is the enumeration's
// and a plan needs no memory of its own.
class PlanReasons {
 public:
  constexpr void Add(PlanReason reason) { bits_ |= Bit(reason); }

  constexpr bool Contains(PlanReason reason) const { return (bits_ & Bit(reason)) != 0; }

  constexpr bool empty() const { return bits_ == 0; }

  constexpr std::size_t size() const { return static_cast<std::size_t>(std::popcount(bits_)); }

  // In order, as texts.
  std::vector<std::string_view> Texts() const;

  friend constexpr bool operator==(PlanReasons, PlanReasons) = default;

 private:
  static constexpr std::uint32_t Bit(PlanReason reason) {
    return std::uint32_t{1} << static_cast<unsigned>(reason);
  }

  std::uint32_t bits_ = 0;
};

// The plan: what a request will use, decided once. Its fields are const because nobody decides again later.
struct ResolvedExecution {
  const ExecutionMethod method;
  const ExecutionMechanism mechanism;
  const bool paged_kv;
  const bool prompt_cache;
  const bool checkpoint;
  const bool fill;
  const bool compiled_decode;  // may try; no promise
  const bool grammar_jump;
  const PlanReasons reasons;

  friend constexpr bool operator==(const ResolvedExecution&, const ResolvedExecution&) = default;
};

// One boolean field of S and its name.
template <class S, class Field = bool>
struct NamedField {
  std::string_view name;
  Field S::* field;
};

inline constexpr std::array<NamedField<ExecutionRequirements>, 10> kRequirementFields = {{
    {"has_vision", &ExecutionRequirements::has_vision},
    {"has_adapters", &ExecutionRequirements::has_adapters},
    {"has_repetition_penalty", &ExecutionRequirements::has_repetition_penalty},
    {"user_seed", &ExecutionRequirements::user_seed},
    {"kv_quant", &ExecutionRequirements::kv_quant},
    {"turbo_quant", &ExecutionRequirements::turbo_quant},
    {"has_logits_extras", &ExecutionRequirements::has_logits_extras},
    {"has_grammar", &ExecutionRequirements::has_grammar},
    {"wants_logprobs", &ExecutionRequirements::wants_logprobs},
    {"has_draft", &ExecutionRequirements::has_draft},
}};

// The reference engine's capabilities come first (kReferenceCapabilityCount of them), then those that lift a condition.
inline constexpr std::size_t kReferenceCapabilityCount = 6;
inline constexpr std::array<NamedField<ExecutionCapabilities>, 19> kCapabilityFields = {{
    {"continuous", &ExecutionCapabilities::continuous},
    {"quantized_batch", &ExecutionCapabilities::quantized_batch},
    {"grammar_batch", &ExecutionCapabilities::grammar_batch},
    {"checkpoints", &ExecutionCapabilities::checkpoints},
    {"speculative_kv_quant", &ExecutionCapabilities::speculative_kv_quant},
    {"compiled_decode", &ExecutionCapabilities::compiled_decode},
    {"seeded_rows", &ExecutionCapabilities::seeded_rows},
    {"logprob_rows", &ExecutionCapabilities::logprob_rows},
    {"paged_batch", &ExecutionCapabilities::paged_batch},
    {"paged_prompt_cache", &ExecutionCapabilities::paged_prompt_cache},
    {"paged_compiled_decode", &ExecutionCapabilities::paged_compiled_decode},
    {"adapter_batch", &ExecutionCapabilities::adapter_batch},
    {"media_batch", &ExecutionCapabilities::media_batch},
    {"turbo_batch", &ExecutionCapabilities::turbo_batch},
    {"draft_batch", &ExecutionCapabilities::draft_batch},
    {"batch_checkpoint", &ExecutionCapabilities::batch_checkpoint},
    {"batch_fill", &ExecutionCapabilities::batch_fill},
    {"batch_grammar_jump", &ExecutionCapabilities::batch_grammar_jump},
    {"speculative_prompt_cache", &ExecutionCapabilities::speculative_prompt_cache},
}};

inline constexpr std::array<NamedField<ExecutionFeatures>, 4> kFeatureFields = {{
    {"paged_kv", &ExecutionFeatures::paged_kv},
    {"fill", &ExecutionFeatures::fill},
    {"compiled_decode", &ExecutionFeatures::compiled_decode},
    {"grammar_jump", &ExecutionFeatures::grammar_jump},
}};

inline constexpr std::array<NamedField<ResolvedExecution, const bool>, 6> kPlanFields = {{
    {"paged_kv", &ResolvedExecution::paged_kv},
    {"prompt_cache", &ResolvedExecution::prompt_cache},
    {"checkpoint", &ResolvedExecution::checkpoint},
    {"fill", &ResolvedExecution::fill},
    {"compiled_decode", &ResolvedExecution::compiled_decode},
    {"grammar_jump", &ResolvedExecution::grammar_jump},
}};

}  // namespace hearth
