// The reference data of one published model (fixture folder `real`) and how far an engine's logits are from it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hearth/token.h"

namespace hearth {

// One prompt with what the reference said. Shapes: ids [tokens]; top_ids, top_logits [tokens, kTop] in
// descending order; log_sum [tokens] over the whole vocabulary; greedy, greedy_gap [steps].
struct RealPrompt {
  static constexpr std::size_t kTop = 32;

  std::string name;
  std::vector<TokenId> ids;
  std::vector<std::int32_t> top_ids;
  std::vector<float> top_logits;
  std::vector<float> log_sum;
  std::vector<TokenId> greedy;
  std::vector<float> greedy_gap;
  double peer_kl;  // llama.cpp's mean KL over the whole vocabulary, default batched path
};

// All prompts of the model's folder; the names come from its goldens.json.
std::vector<RealPrompt> LoadRealPrompts(const std::string& folder);

// Distance of logits [tokens, vocabulary] from a prompt's reference.
struct RealDistance {
  // Mean over positions of the sum of p log(p / q) - p + q over the reference's 32 best tokens, p being the
  // reference. Over the whole vocabulary that sum is the KL, and no term is negative: so this is a lower bound.
  double kl = 0;
  double largest_difference = 0;  // over the stored logits
  std::size_t top1_equal = 0;     // positions with the reference's best token
  std::size_t top1_wrong =
      0;  // positions where they differ though the reference's gap exceeds kClearGap
};

inline constexpr double kClearGap = 1e-3;

RealDistance MeasureDistance(
    const RealPrompt& prompt, std::span<const float> logits, std::size_t vocabulary
);

// log of the sum of exp over one row, in double.
double LogSumExp(std::span<const float> row);

// Index of the largest value, the lowest of equal ones.
std::size_t ArgMax(std::span<const float> row);

// Mean KL of two sets of logits [tokens, vocabulary] over the whole vocabulary, in double.
double MeanKl(
    std::span<const float> reference, std::span<const float> candidate, std::size_t vocabulary
);

}  // namespace hearth
