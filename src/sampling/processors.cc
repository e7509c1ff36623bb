#include "sampling/processors.h"

#include <cstddef>

namespace hearth {

template <typename Change>
void Processors::ForEachInContext(
    std::span<float> logits,
    std::span<const TokenId> history,
    std::uint32_t context,
    const Change& change
) {
  if (context != 0 && history.size() > context) {
    history = history.last(context);
  }
  if (counts_.size() < logits.size()) {
    counts_.resize(logits.size(), 0);
  }
  for (const TokenId token : history) {
    if (token < logits.size()) {
      ++counts_[token];
    }
  }
  for (const TokenId token : history) {
    if (token < logits.size() && counts_[token] != 0) {
      logits[token] = static_cast<float>(
          change(static_cast<double>(logits[token]), static_cast<double>(counts_[token]))
      );
      counts_[token] = 0;
    }
  }
}

void Processors::Apply(
    const SamplingParameters& parameters, std::span<float> logits, std::span<const TokenId> history
) {
  for (const auto& [token, bias] : parameters.logit_bias) {
    if (token < logits.size()) {
      logits[token] = static_cast<float>(static_cast<double>(logits[token]) + bias);
    }
  }
  const double repetition = parameters.repetition_penalty;
  if (repetition != 0 && repetition != 1) {
    ForEachInContext(
        logits,
        history,
        parameters.repetition_context,
        [repetition](double logit, double /*count*/) {
          return logit < 0 ? logit * repetition : logit / repetition;
        }
    );
  }
  const double presence = parameters.presence_penalty;
  if (presence != 0) {
    ForEachInContext(
        logits, history, parameters.presence_context, [presence](double logit, double /*count*/) {
          return logit - presence;
        }
    );
  }
  const double frequency = parameters.frequency_penalty;
  if (frequency != 0) {
    ForEachInContext(
        logits, history, parameters.frequency_context, [frequency](double logit, double count) {
          return logit - frequency * count;
        }
    );
  }
}

}  // namespace hearth
