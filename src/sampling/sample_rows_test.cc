#include "sampling/sample_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "sampling/seed.h"

namespace hearth {
namespace {

constexpr std::size_t kVocabulary = 3000;

struct Batch {
  explicit Batch(std::size_t rows) {
    for (std::size_t row = 0; row < rows; ++row) {
      const SamplingParameters parameters = {
          .temperature = row % 2 == 0 ? 0.9 : 0,
          .top_k = 40,
          .repetition_penalty = 1.1,
          .top_logprobs = 3,
      };
      samplers.emplace_back(
          parameters,
          row,
          SamplerVocabulary{.size = kVocabulary},
          SamplingKernelsFor(AttainableIsas().back())
      );
      std::vector<float>& scores = logits.emplace_back(kVocabulary);
      for (std::size_t i = 0; i < kVocabulary; ++i) {
        scores[i] = static_cast<float>(16 * Uniform(Mix(row, i)) - 8);
      }
      histories.push_back({static_cast<TokenId>(row), 7, 7, 9});
    }
  }

  std::vector<SampleRow> Rows() {
    std::vector<SampleRow> rows;
    for (std::size_t row = 0; row < samplers.size(); ++row) {
      rows.push_back({&samplers[row], logits[row], histories[row], row});
    }
    return rows;
  }

  std::vector<Sampler> samplers;
  std::vector<std::vector<float>> logits;
  std::vector<std::vector<TokenId>> histories;
};

TEST(SampleRows, EachRowIsWhatItIsAlone) {
  for (const int threads : {1, 2, 3, 8}) {
    WorkerTeam team(threads);
    for (const std::size_t count : {0u, 1u, 2u, 5u, 33u}) {
      Batch together(count);
      const std::vector<RowOutcome> outcomes = SampleRows(together.Rows(), team);
      ASSERT_EQ(outcomes.size(), count);
      Batch alone(count);
      for (std::size_t row = 0; row < count; ++row) {
        EXPECT_FALSE(outcomes[row].error);
        EXPECT_EQ(
            outcomes[row].sampled,
            alone.samplers[row].Sample(alone.logits[row], alone.histories[row], row)
        ) << row;
      }
    }
  }
}

TEST(SampleRows, AnErrorStaysInItsRow) {
  WorkerTeam team(3);
  Batch batch(9);
  Batch alone(9);
  batch.logits[0][5] = std::numeric_limits<float>::quiet_NaN();
  batch.logits[4][2999] = std::numeric_limits<float>::infinity();
  const std::vector<RowOutcome> outcomes = SampleRows(batch.Rows(), team);
  for (std::size_t row = 0; row < outcomes.size(); ++row) {
    if (row != 0 && row != 4) {
      EXPECT_FALSE(outcomes[row].error) << row;
      EXPECT_EQ(
          outcomes[row].sampled,
          alone.samplers[row].Sample(alone.logits[row], alone.histories[row], row)
      );
      continue;
    }
    ASSERT_TRUE(outcomes[row].error) << row;
    try {
      std::rethrow_exception(outcomes[row].error);
    } catch (const Error& error) {
      EXPECT_NE(
          std::string(error.what()).find(row == 0 ? "token 5" : "token 2999"), std::string::npos
      );
    }
  }
}

}  // namespace
}  // namespace hearth
