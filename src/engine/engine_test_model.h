// A model for tests of the engine: it counts, and remembers what it was given.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include "models/language_model.h"

namespace hearth {

// After token t comes t + 1, modulo the vocabulary, as if it were sampled from zeros. The logits after kPoison are NaN.
class CountingModel final : public LanguageModel {
 public:
  static constexpr std::size_t kVocabulary = 1000;
  static constexpr TokenId kPoison = 999;

  explicit CountingModel(std::size_t context = 10'000) {
    facts_.vocabulary = kVocabulary;
    facts_.context_length = context;
    facts_.kv = {1, 1, 32, KvStorage::kBF16};
  }

  const ModelFacts& facts() const override { return facts_; }

  void Forward(std::span<const ForwardRow> rows, float* logits) override {
    if (on_forward) {
      on_forward();
    }
    std::vector<std::size_t>& sizes = forwards.emplace_back();
    for (const ForwardRow& row : rows) {
      row.sequence->Reserve(row.tokens.size());
      row.sequence->Advance(row.tokens.size());
      sizes.push_back(row.tokens.size());
      const std::size_t first = row.logits == LogitSelection::kAll ? 0 : row.tokens.size() - 1;
      for (std::size_t i = first; row.logits != LogitSelection::kNone && i < row.tokens.size();
           ++i) {
        const TokenId token = row.tokens[i];
        std::fill_n(logits, kVocabulary, token == kPoison ? std::nanf("") : 0.0f);
        logits[(token + 1) % kVocabulary] += 1.0f;
        logits += kVocabulary;
      }
    }
  }

  std::vector<std::vector<std::size_t>> forwards;  // tokens of each row of each call
  std::function<void()> on_forward;

  void set_attention_break_even(std::size_t keys) { facts_.attention_break_even = keys; }

 private:
  ModelFacts facts_{};
};

}  // namespace hearth
