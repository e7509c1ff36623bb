#include "sampling/processors.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace hearth {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

std::vector<float> Processed(
    const SamplingParameters& parameters,
    std::vector<float> logits,
    const std::vector<TokenId>& history
) {
  Processors().Apply(parameters, logits, history);
  return logits;
}

using Row = std::vector<float>;

TEST(Processors, DefaultsChangeNothing) {
  EXPECT_EQ(Processed({}, {1, -2, kMasked}, {0, 1, 2}), (Row{1, -2, kMasked}));
}

// Entry 49 of the known faults: an empty bias is as good as none.
TEST(Processors, EmptyLogitBiasIsTheSameAsAbsent) {
  EXPECT_EQ(Processed({.logit_bias = {}}, {1, -2}, {0}), (Row{1, -2}));
}

TEST(Processors, BiasIsAddedToItsTokens) {
  const SamplingParameters parameters = {.logit_bias = {{2, 5}, {0, -100}, {3, 1}, {9, 1}}};
  EXPECT_EQ(Processed(parameters, {1, 2, 3, kMasked}, {}), (Row{-99, 2, 8, kMasked}));
}

TEST(Processors, RepetitionPushesEitherSignDownOncePerToken) {
  const SamplingParameters parameters = {.repetition_penalty = 2};
  EXPECT_EQ(Processed(parameters, {4, -4, 4, 0}, {0, 1, 0, 1, 3}), (Row{2, -8, 4, 0}));
  EXPECT_EQ(Processed({.repetition_penalty = 0}, {4, -4}, {0, 1}), (Row{4, -4}));
}

TEST(Processors, PresenceIsSubtractedOnce) {
  EXPECT_EQ(Processed({.presence_penalty = 0.5}, {4, 4, 4}, {0, 0, 0, 1}), (Row{3.5, 3.5, 4}));
  EXPECT_EQ(Processed({.presence_penalty = -0.5}, {4, 4, 4}, {2}), (Row{4, 4, 4.5}));
}

TEST(Processors, FrequencyIsSubtractedForEachTime) {
  EXPECT_EQ(Processed({.frequency_penalty = 0.5}, {4, 4, 4}, {0, 0, 0, 1}), (Row{2.5, 3.5, 4}));
}

TEST(Processors, EachPenaltyHasItsOwnContext) {
  const std::vector<TokenId> history = {0, 1, 2, 2, 3};
  EXPECT_EQ(
      Processed({.repetition_penalty = 2, .repetition_context = 1}, {8, 8, 8, 8}, history),
      (Row{8, 8, 8, 4})
  );
  EXPECT_EQ(
      Processed({.presence_penalty = 1, .presence_context = 3}, {8, 8, 8, 8}, history),
      (Row{8, 8, 7, 7})
  );
  EXPECT_EQ(
      Processed({.frequency_penalty = 1, .frequency_context = 2}, {8, 8, 8, 8}, history),
      (Row{8, 8, 7, 7})
  );
  EXPECT_EQ(
      Processed({.frequency_penalty = 1, .frequency_context = 100}, {8, 8, 8, 8}, history),
      (Row{7, 7, 6, 7})
  );
}

TEST(Processors, ContextsAreTwentyAndZeroMeansAll) {
  std::vector<TokenId> history = {0};
  history.insert(history.end(), 20, 1);
  for (const bool all : {false, true}) {
    const std::uint32_t context = all ? 0 : 20;
    EXPECT_EQ(SamplingParameters().repetition_context, 20U);
    EXPECT_EQ(SamplingParameters().presence_context, 20U);
    EXPECT_EQ(SamplingParameters().frequency_context, 20U);
    const SamplingParameters parameters = {
        .repetition_penalty = 2,
        .presence_penalty = 1,
        .frequency_penalty = 1,
        .repetition_context = context,
        .presence_context = context,
        .frequency_context = context,
    };
    EXPECT_EQ(Processed(parameters, {8, 80}, history), all ? (Row{2, 19}) : (Row{8, 19}));
  }
}

// Bias, repetition, presence, frequency: (1 + 3) / 2 - 0.25 - 2 * 0.5. Any other order gives another number.
TEST(Processors, OrderIsFixed) {
  const SamplingParameters parameters = {
      .repetition_penalty = 2,
      .presence_penalty = 0.25,
      .frequency_penalty = 0.5,
      .logit_bias = {{0, 3}},
  };
  EXPECT_EQ(Processed(parameters, {1}, {0, 0}), (Row{0.75}));
}

TEST(Processors, TokensOutsideTheRowAndMaskedOnesAreLeftAlone) {
  const SamplingParameters parameters = {
      .repetition_penalty = 2, .presence_penalty = 1, .frequency_penalty = 1
  };
  EXPECT_EQ(Processed(parameters, {8, kMasked}, {5, 4000000000U, 1, 1}), (Row{8, kMasked}));
}

TEST(Processors, NothingIsLeftFromTheCallBefore) {
  const SamplingParameters parameters = {.frequency_penalty = 1};
  Processors processors;
  for (int call = 0; call < 3; ++call) {
    std::vector<float> row = {8, 8, 8};
    processors.Apply(parameters, row, std::vector<TokenId>{0, 0, 2});
    EXPECT_EQ(row, (Row{6, 8, 7})) << call;
  }
}

}  // namespace
}  // namespace hearth
