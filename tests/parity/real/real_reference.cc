#include "parity/real/real_reference.h"

#include <algorithm>
#include <cmath>

#include "support/fixtures.h"
#include "support/npz.h"

namespace hearth {

std::vector<RealPrompt> LoadRealPrompts(const std::string& folder) {
  const std::filesystem::path root = FixtureDir("real") / folder;
  const nlohmann::json goldens = LoadJson(root / "goldens.json");
  std::vector<RealPrompt> prompts;
  for (const auto& [name, entry] : goldens.items()) {
    if (!entry.is_object()) {
      continue;  // a figure about the whole model
    }
    const Npz data = ReadNpz(root / (name + ".npz"));
    const auto floats = [&](const char* key) {
      const auto values = data.at(key).values<float>();
      return std::vector<float>(values.begin(), values.end());
    };
    const auto top = data.at("top_idx").values<std::int32_t>();
    prompts.push_back({
        name,
        entry.at("ids").get<std::vector<TokenId>>(),
        {top.begin(), top.end()},
        floats("top_logit"),
        floats("lse"),
        entry.at("greedy").get<std::vector<TokenId>>(),
        entry.at("greedy_gap").get<std::vector<float>>(),
        entry.at("compared").at("prefill_fa").at("kl_mean").get<double>(),
    });
  }
  return prompts;
}

double LogSumExp(std::span<const float> row) {
  const double most = *std::ranges::max_element(row);
  double sum = 0;
  for (const float value : row) {
    sum += std::exp(static_cast<double>(value) - most);
  }
  return most + std::log(sum);
}

std::size_t ArgMax(std::span<const float> row) {
  return static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
}

RealDistance MeasureDistance(
    const RealPrompt& prompt, std::span<const float> logits, std::size_t vocabulary
) {
  RealDistance distance;
  for (std::size_t position = 0; position < prompt.ids.size(); ++position) {
    const std::span<const float> row = logits.subspan(position * vocabulary, vocabulary);
    const double log_sum = LogSumExp(row);
    const double reference_log_sum = prompt.log_sum[position];
    double kl = 0;
    for (std::size_t i = 0; i < RealPrompt::kTop; ++i) {
      const std::size_t at = position * RealPrompt::kTop + i;
      const double reference = prompt.top_logits[at];
      const double engine = row[static_cast<std::size_t>(prompt.top_ids[at])];
      distance.largest_difference =
          std::max(distance.largest_difference, std::fabs(reference - engine));
      // p log(p / q) - p + q, which does not suffer from the rounding of the stored sums.
      const double ratio = reference - reference_log_sum - engine + log_sum;
      kl += std::exp(reference - reference_log_sum) * (ratio + std::expm1(-ratio));
    }
    distance.kl += kl / static_cast<double>(prompt.ids.size());
    const std::size_t at = position * RealPrompt::kTop;
    const bool equal = ArgMax(row) == static_cast<std::size_t>(prompt.top_ids[at]);
    distance.top1_equal += equal ? 1 : 0;
    const double gap =
        static_cast<double>(prompt.top_logits[at]) - static_cast<double>(prompt.top_logits[at + 1]);
    distance.top1_wrong += !equal && gap > kClearGap ? 1 : 0;
  }
  return distance;
}

double MeanKl(
    std::span<const float> reference, std::span<const float> candidate, std::size_t vocabulary
) {
  double total = 0;
  for (std::size_t at = 0; at < reference.size(); at += vocabulary) {
    const auto p = reference.subspan(at, vocabulary);
    const auto q = candidate.subspan(at, vocabulary);
    const double p_sum = LogSumExp(p);
    const double q_sum = LogSumExp(q);
    for (std::size_t i = 0; i < vocabulary; ++i) {
      const double log_p = static_cast<double>(p[i]) - p_sum;
      total += std::exp(log_p) * (log_p - static_cast<double>(q[i]) + q_sum);
    }
  }
  return total / (static_cast<double>(reference.size()) / static_cast<double>(vocabulary));
}

}  // namespace hearth
