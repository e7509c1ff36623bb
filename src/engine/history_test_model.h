// A model for tests of pages: it reads the whole history back from them.
#pragma once

#include <cstring>
#include <functional>
#include <span>

#include "models/language_model.h"
#include "sampling/seed.h"

namespace hearth {

inline constexpr std::size_t kVocabulary = 40;
inline constexpr TokenId kPoison = 39;  // the logits after it are NaN

inline std::uint64_t Follow(std::uint64_t hash, TokenId token) {
  return Mix(hash, token + 1);
}

inline TokenId TokenAfter(std::uint64_t hash) {
  return static_cast<TokenId>(hash % (kVocabulary - 1));
}

// What comes next is a hash of all that came before, as the pages have it.
class HistoryModel final : public LanguageModel {
 public:
  explicit HistoryModel(std::size_t context) {
    facts_.vocabulary = kVocabulary;
    facts_.context_length = context;
    facts_.kv = {1, 1, 32, KvStorage::kBF16};
  }

  const ModelFacts& facts() const override { return facts_; }

  void Forward(std::span<const ForwardRow> rows, float* logits) override {
    if (on_forward) {
      on_forward();
    }
    for (const ForwardRow& row : rows) {
      KvSequence& sequence = *row.sequence;
      const std::size_t first = sequence.length();
      sequence.Reserve(row.tokens.size());
      for (std::size_t i = 0; i < row.tokens.size(); ++i) {
        std::memcpy(Place(sequence, first + i), &row.tokens[i], sizeof(TokenId));
      }
      sequence.Advance(row.tokens.size());
      std::uint64_t hash = 0;
      for (std::size_t i = 0; i < first + row.tokens.size(); ++i) {
        TokenId token = 0;
        std::memcpy(&token, Place(sequence, i), sizeof(TokenId));
        hash = Follow(hash, token);
        const bool last = i + 1 == first + row.tokens.size();
        if (row.logits == LogitSelection::kAll ? i >= first
                                               : row.logits == LogitSelection::kLast && last) {
          std::fill_n(logits, kVocabulary, token == kPoison ? std::nanf("") : 0.0f);
          logits[TokenAfter(hash)] += 9.0f;
          logits += kVocabulary;
        }
      }
    }
  }

  std::function<void()> on_forward;

 private:
  static std::byte* Place(KvSequence& sequence, std::size_t position) {
    return sequence.pool().LayerPart(sequence.table()[position / kPageTokens], 0) +
           position % kPageTokens * sizeof(TokenId);
  }

  ModelFacts facts_{};
};

}  // namespace hearth
