// How a request wants its tokens chosen from the logits. A plain value: what the fields do is in
// src/sampling, how a protocol spells them is the server's matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hearth/token.h"

namespace hearth {

// Added to one token's logit.
struct LogitBias {
  TokenId token = 0;
  double bias = 0;

  bool operator==(const LogitBias&) const = default;
};

// The defaults are greedy and without penalties; a server puts its own in before it comes to this.
// Order of work: logit_bias, repetition, presence, frequency; then, unless greedy, top_p, min_p, XTC, top_k and
// the temperature last, so that the filters see the distribution as it is without temperature.
struct SamplingParameters {
  // Divides the log-probabilities of what the filters left. 0 to 100; default 0. Off (greedy: the largest
  // logit, the lowest id of equal ones, no draw) below kGreedyBelow.
  double temperature = 0;

  // Keeps the k most probable tokens, the lowest ids of equal ones. Default and off: 0.
  std::uint32_t top_k = 0;

  // Keeps a token when the tokens above it have less than this share of the probability; equal ones stay or
  // go together. 0 to 1; default 1. Off: 1 or 0.
  double top_p = 1;

  // Drops what is less probable than this share of the most probable token. 0 to 1; default and off: 0.
  double min_p = 0;

  // min_p leaves at least this many tokens (of those that top_p left). At least 1; default 1.
  std::uint32_t min_tokens_to_keep = 1;

  // Once for each distinct token of the context: a negative logit is multiplied by it, another divided.
  // kMinRepetitionPenalty to kMaxRepetitionPenalty; default 1. Off: 1 or 0.
  double repetition_penalty = 1;

  // Subtracted once from the logit of each distinct token of the context. Within kMaxPenalty either side;
  // default and off: 0.
  double presence_penalty = 0;

  // Subtracted from a token's logit once for each time it stands in the context. Bounds as presence_penalty.
  double frequency_penalty = 0;

  // How many of the last tokens of prompt and answer each penalty looks at. Default 20; 0 is all of them.
  std::uint32_t repetition_context = 20;
  std::uint32_t presence_context = 20;
  std::uint32_t frequency_context = 20;

  // Default and off: empty. Each bias within kMaxLogitBias either side; at most kMaxLogitBiases of them.
  std::vector<LogitBias> logit_bias = {};

  // The same seed gives the same draws. Default: none, and whoever admits the request takes a fresh one.
  std::optional<std::uint64_t> seed = {};

  // The chance, a step, that XTC drops every token above the least probable of those over xtc_threshold
  // (end-of-text tokens and line breaks stay). 0 to 1; default and off: 0.
  double xtc_probability = 0;

  // The probability over which XTC counts a token as a top choice. 0 to 0.5; default 0.
  double xtc_threshold = 0;

  // How many of the most probable tokens are reported beside the chosen one's log-probability; 0 reports that one
  // alone. Up to kMaxTopLogprobs. Default and off: none.
  std::optional<std::uint32_t> top_logprobs = {};

  bool operator==(const SamplingParameters&) const = default;
};

// Temperatures below this are greedy: at such a temperature a draw differs from the argmax only between logits that
// are closer than float32 logits of a usual size can be.
inline constexpr double kGreedyBelow = 1e-6;
inline constexpr double kMaxTemperature = 100;
inline constexpr double kMinRepetitionPenalty = 1e-3;
inline constexpr double kMaxRepetitionPenalty = 1e3;
inline constexpr double kMaxPenalty = 1e6;
inline constexpr double kMaxLogitBias = 1e9;
inline constexpr std::size_t kMaxLogitBiases = 65536;
inline constexpr std::uint32_t kMaxTopLogprobs = 20;

// Checks every bound above. vocabulary_size bounds the ids of logit_bias; 0 when it is not known yet.
// Errors: Error(kInvalidArgument), one line: the field, what it got and what it wanted; NaN and
//         infinities are refused everywhere.
void Validate(const SamplingParameters& parameters, std::size_t vocabulary_size = 0);

// Whether these parameters take the largest logit, whatever the filters say.
bool IsGreedy(const SamplingParameters& parameters);

}  // namespace hearth
