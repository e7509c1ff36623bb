#include "hearth/sampling_parameters.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "hearth/error.h"

namespace hearth {
namespace {

// The shortest text that reads back as the same number.
std::string Text(double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

[[noreturn]] void Refuse(
    std::string_view field, const std::string& got, const std::string& wanted
) {
  throw Error(
      ErrorCode::kInvalidArgument, std::string(field) + ": got " + got + ", wanted " + wanted
  );
}

// Comparisons are written so that NaN fails them.
void CheckRange(std::string_view field, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    Refuse(field, Text(value), "a number from " + Text(low) + " to " + Text(high));
  }
}

}  // namespace

void Validate(const SamplingParameters& parameters, std::size_t vocabulary_size) {
  CheckRange("temperature", parameters.temperature, 0, kMaxTemperature);
  CheckRange("top_p", parameters.top_p, 0, 1);
  CheckRange("min_p", parameters.min_p, 0, 1);
  if (parameters.min_tokens_to_keep < 1) {
    Refuse("min_tokens_to_keep", "0", "at least 1");
  }
  if (parameters.repetition_penalty != 0) {
    if (!(parameters.repetition_penalty >= kMinRepetitionPenalty &&
          parameters.repetition_penalty <= kMaxRepetitionPenalty)) {
      Refuse(
          "repetition_penalty",
          Text(parameters.repetition_penalty),
          "0 (off) or a number from " + Text(kMinRepetitionPenalty) + " to " +
              Text(kMaxRepetitionPenalty)
      );
    }
  }
  CheckRange("presence_penalty", parameters.presence_penalty, -kMaxPenalty, kMaxPenalty);
  CheckRange("frequency_penalty", parameters.frequency_penalty, -kMaxPenalty, kMaxPenalty);
  CheckRange("xtc_probability", parameters.xtc_probability, 0, 1);
  CheckRange("xtc_threshold", parameters.xtc_threshold, 0, 0.5);
  if (parameters.top_logprobs.value_or(0) > kMaxTopLogprobs) {
    Refuse(
        "top_logprobs",
        std::to_string(*parameters.top_logprobs),
        "at most " + std::to_string(kMaxTopLogprobs)
    );
  }
  if (parameters.logit_bias.size() > kMaxLogitBiases) {
    Refuse(
        "logit_bias",
        std::to_string(parameters.logit_bias.size()) + " entries",
        "at most " + std::to_string(kMaxLogitBiases)
    );
  }
  for (const LogitBias& entry : parameters.logit_bias) {
    CheckRange(
        "logit_bias of token " + std::to_string(entry.token),
        entry.bias,
        -kMaxLogitBias,
        kMaxLogitBias
    );
    if (vocabulary_size != 0 && entry.token >= vocabulary_size) {
      Refuse(
          "logit_bias",
          "token " + std::to_string(entry.token),
          "an id below the vocabulary's " + std::to_string(vocabulary_size)
      );
    }
  }
}

bool IsGreedy(const SamplingParameters& parameters) {
  return parameters.temperature < kGreedyBelow;
}

}  // namespace hearth
