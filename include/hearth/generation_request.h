// What the engine is asked for: a prompt of tokens and how to go on from it. Values only; text, templates and JSON stay with
// whoever asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hearth/generation.h"
#include "hearth/sampling_parameters.h"
#include "hearth/token.h"

namespace hearth {

// Receives the logits of one prompt position, [vocabulary], before processors; they predict the token after it. Called in
// ascending order, once a position, on the thread that computes, so it must be quick and must not call the engine.
// What it throws fails its own request.
using PromptLogitsSink = std::function<void(std::size_t position, std::span<const float> logits)>;

// Receives the log-probability of one token of the prompt, given those before it, and the most probable ones there:
// positions 1 .. prompt - 1, under the same rules as PromptLogitsSink. Over the whole vocabulary, before processors.
using PromptScoreSink = std::function<void(std::size_t position, const TokenLogprobs& scores)>;

struct GenerationRequest {
  std::vector<TokenId> prompt;         // at least one token
  std::uint64_t max_tokens = 512;      // 0 computes the prompt only
  std::vector<TokenId> stop_tokens{};  // end the answer and are not delivered
  SamplingParameters sampling{};       // sampling.seed says whether the seed is the user's
  std::uint64_t seed =
      0;  // of this choice (ChoiceSeed): drawn by whoever asks when the user gave none

  // The prompt cache: requests of one space share prefixes (the identity of adapters and media; empty for plain text).
  std::string cache_space{};
  std::string session_id{};  // a hint: whose conversation goes on; never changes the answer
  bool use_cache = true;

  // Either may be empty; a request that has one computes its whole prompt.
  PromptLogitsSink prompt_logits{};
  PromptScoreSink prompt_scores{};
  std::uint32_t prompt_scores_top = 0;  // most probable tokens that come with each score

  bool ComputesWholePrompt() const { return prompt_logits || prompt_scores; }
};

}  // namespace hearth
