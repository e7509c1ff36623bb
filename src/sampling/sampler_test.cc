#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "hearth/error.h"
#include "platform/float_mode.h"
#include "sampling/seed.h"

namespace hearth {
namespace {

const SamplingKernels kKernels = SamplingKernelsFor(AttainableIsas().back());
constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Row = std::vector<float>;
using Tokens = std::vector<TokenId>;

Row RandomRow(std::size_t size, std::uint64_t seed) {
  Row row(size);
  for (std::size_t i = 0; i < size; ++i) {
    row[i] = static_cast<float>(12 * Uniform(Mix(seed, i)) - 6);
  }
  return row;
}

// One sample of a sampler made for it alone.
SampledToken SampleOnce(
    const SamplingParameters& parameters,
    Row row,
    std::uint64_t seed = 1,
    std::uint64_t step = 0,
    const Tokens& history = {}
) {
  Sampler sampler(parameters, seed, {.size = row.size()}, kKernels);
  return sampler.Sample(row, history, step);
}

// Pearson's statistic of `counts` against the probabilities of softmax(row / temperature).
double ChiSquare(const std::vector<int>& counts, const Row& row, double temperature) {
  double total = 0;
  double draws = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    total += std::exp(static_cast<double>(row[i]) / temperature);
    draws += counts[i];
  }
  double statistic = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double expected = draws * std::exp(static_cast<double>(row[i]) / temperature) / total;
    statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return statistic;
}

// Passed once in a thousand by a right sampler with 7 degrees of freedom; the seeds are fixed, so never by chance.
constexpr double kChiSquareLimit = 24.3;

TEST(Sampler, DrawsOverTheStepsFollowTheDistribution) {
  const Row row = {0.5F, -1, 2, 0, 1, -0.5F, 1.5F, 0.25F};
  for (const double temperature : {0.5, 1.0, 2.0}) {
    Sampler sampler({.temperature = temperature}, 2024, {.size = row.size()}, kKernels);
    std::vector<int> counts(row.size());
    for (std::uint64_t step = 0; step < 20000; ++step) {
      Row scratch = row;
      ++counts[sampler.Sample(scratch, {}, step).token];
    }
    EXPECT_LT(ChiSquare(counts, row, temperature), kChiSquareLimit) << temperature;
  }
}

// What n requests with seeds 0, 1, 2, ... see at one step, and what the choices of one request see.
TEST(Sampler, DrawsOverSeedsAndChoicesFollowTheDistribution) {
  const Row row = {0.5F, -1, 2, 0, 1, -0.5F, 1.5F, 0.25F};
  std::vector<int> by_seed(row.size());
  std::vector<int> by_choice(row.size());
  for (std::uint32_t i = 0; i < 20000; ++i) {
    ++by_seed[SampleOnce({.temperature = 1}, row, ChoiceSeed(i, 0)).token];
    ++by_choice[SampleOnce({.temperature = 1}, row, ChoiceSeed(5, i)).token];
  }
  EXPECT_LT(ChiSquare(by_seed, row, 1), kChiSquareLimit);
  EXPECT_LT(ChiSquare(by_choice, row, 1), kChiSquareLimit);
}

// A token's draw tells nothing about the next one's: 64 pairs, 63 degrees of freedom.
TEST(Sampler, NeighbouringStepsAreIndependent) {
  const Row row = {0, 0, 0, 0, 0, 0, 0, 0};
  Sampler sampler({.temperature = 1}, 8, {.size = row.size()}, kKernels);
  std::vector<int> pairs(64);
  TokenId last = 0;
  for (std::uint64_t step = 0; step < 64000; ++step) {
    Row scratch = row;
    const TokenId token = sampler.Sample(scratch, {}, step).token;
    ++pairs[last * 8 + token];
    last = token;
  }
  EXPECT_LT(ChiSquare(pairs, Row(64, 0), 1), 103.4);
}

// Entries 46 and 47 of the known faults: temperature 0 is the argmax whatever the filters say, and draws nothing.
TEST(Sampler, TemperatureZeroIsTheArgmaxWithAnyFilter) {
  const Row row = {1, 4, 2, 4, 3};
  for (const SamplingParameters& filters : std::vector<SamplingParameters>{
           {},
           {.top_k = 1},
           {.top_k = 3, .top_p = 0.1},
           {.top_p = 0.95},
           {.top_p = 0},
           {.min_p = 1},
           {.min_p = 0.5, .min_tokens_to_keep = 4},
           {.xtc_probability = 1, .xtc_threshold = 0.01},
       }) {
    for (const double temperature : {0.0, 1e-7}) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SamplingParameters parameters = filters;
        parameters.temperature = temperature;
        EXPECT_EQ(SampleOnce(parameters, row, seed, seed).token, 1U);
      }
    }
  }
}

TEST(Sampler, GreedyStillObeysBiasAndPenalties) {
  EXPECT_EQ(SampleOnce({.logit_bias = {{2, 5}}}, {1, 4, 2}).token, 2U);
  EXPECT_EQ(SampleOnce({.presence_penalty = 10}, {1, 4, 2}, 1, 0, {1}).token, 2U);
}

// Entry 49.
TEST(Sampler, EmptyLogitBiasChangesNothing) {
  const Row row = RandomRow(500, 3);
  for (std::uint64_t step = 0; step < 50; ++step) {
    EXPECT_EQ(
        SampleOnce({.temperature = 1, .logit_bias = {}}, row, 4, step),
        SampleOnce({.temperature = 1}, row, 4, step)
    );
  }
}

// Entry 50: the head is padded past the vocabulary, and the padding looks attractive or is rubbish.
TEST(Sampler, IdsWithoutATokenAreNeverChosenOrReported) {
  for (const double temperature : {0.0, 1.0, 5.0}) {
    const SamplingParameters parameters = {.temperature = temperature, .top_logprobs = 20};
    Sampler sampler(parameters, 1, {.size = 5}, kKernels);
    for (std::uint64_t step = 0; step < 200; ++step) {
      Row row = {1, 2, 3, 2, 1, 100, kNan, -kMasked};
      const SampledToken sampled = sampler.Sample(row, {}, step);
      EXPECT_LT(sampled.token, 5U);
      ASSERT_EQ(sampled.top_logprobs.size(), 5U);
      EXPECT_EQ(sampled.top_logprobs[0].token, 2U);
      Row alone = {1, 2, 3, 2, 1};
      EXPECT_EQ(sampled, sampler.Sample(alone, {}, step));
    }
  }
}

// Entry 52: the seed is used, and the same one gives the same tokens.
TEST(Sampler, TheSeedDecidesTheTokens) {
  const auto tokens = [](std::uint64_t seed) {
    Sampler sampler({.temperature = 0.7}, seed, {.size = 1000}, kKernels);
    Tokens result;
    for (std::uint64_t step = 0; step < 50; ++step) {
      Row row = RandomRow(1000, step);
      result.push_back(sampler.Sample(row, result, step).token);
    }
    return result;
  };
  EXPECT_EQ(tokens(42), tokens(42));
  EXPECT_NE(tokens(42), tokens(43));
  // Entry 53, as far as it is the sampler's: rows of one request differ.
  EXPECT_NE(tokens(ChoiceSeed(42, 0)), tokens(ChoiceSeed(42, 1)));
}

// Entry 56 and law 1: a step depends on its seed and number, not on what ran before, so a row may be resumed, replayed,
// or verified ahead in any order.
TEST(Sampler, AStepDoesNotDependOnWhatRanBefore) {
  const SamplingParameters parameters = {
      .temperature = 0.9,
      .top_k = 40,
      .top_p = 0.95,
      .min_p = 0.01,
      .repetition_penalty = 1.2,
      .frequency_penalty = 0.3,
      .xtc_probability = 0.5,
      .xtc_threshold = 0.1,
      .top_logprobs = 5,
  };
  const Tokens history = {1, 2, 3, 1, 1, 7};
  constexpr std::uint64_t kSteps = 64;
  std::vector<SampledToken> alone;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    alone.push_back(SampleOnce(parameters, RandomRow(3000, step), 6, step, history));
  }
  Sampler sampler(parameters, 6, {.size = 3000}, kKernels);
  for (std::uint64_t i = 0; i < 3 * kSteps; ++i) {
    const std::uint64_t step = (i * 37) % kSteps;  // all of them, out of order, three times
    Row row = RandomRow(3000, step);
    EXPECT_EQ(sampler.Sample(row, history, step), alone[step]) << step;
  }
}

// Whether XTC acts must tell nothing about the draw that follows. Two degrees of freedom: 13.8.
TEST(Sampler, XtcAndTheDrawAreIndependent) {
  const std::vector<double> probabilities = {0.4, 0.5, 0.1};
  Row row;
  Row expected;
  for (const double probability : probabilities) {
    row.push_back(static_cast<float>(std::log(probability)));
    // Half of the time the second token is dropped and the others share its part.
    const double with_xtc = probability == 0.5 ? 0 : probability / 0.5;
    expected.push_back(static_cast<float>(std::log((probability + with_xtc) / 2)));
  }
  const SamplingParameters parameters = {
      .temperature = 1, .xtc_probability = 0.5, .xtc_threshold = 0.2
  };
  std::vector<int> counts(row.size());
  for (std::uint64_t step = 0; step < 20000; ++step) {
    ++counts[SampleOnce(parameters, row, 4, step).token];
  }
  EXPECT_LT(ChiSquare(counts, expected, 1), 13.8);
}

TEST(Sampler, XtcOnlyChangesTheTokensItDrops) {
  // With a threshold that nothing reaches, XTC's own number must not disturb the draw.
  const Row row = RandomRow(400, 9);
  const SamplingParameters off = {.temperature = 1};
  const SamplingParameters on = {.temperature = 1, .xtc_probability = 1, .xtc_threshold = 0.5};
  for (std::uint64_t step = 0; step < 100; ++step) {
    EXPECT_EQ(SampleOnce(on, row, 2, step), SampleOnce(off, row, 2, step));
  }
}

TEST(Sampler, XtcMayTakeThePeakAtALowTemperature) {
  const SamplingParameters parameters = {
      .temperature = 1e-5, .xtc_probability = 1, .xtc_threshold = 0.1
  };
  EXPECT_EQ(SampleOnce(parameters, {0, 2, 1.5F, -1}).token, 2U);
}

TEST(Sampler, XtcLeavesTheExemptTokens) {
  const SamplingParameters parameters = {
      .temperature = 1e-5, .xtc_probability = 1, .xtc_threshold = 0.1
  };
  Sampler sampler(parameters, 1, {.size = 4, .xtc_exempt = {1}}, kKernels);
  Row row = {0, 2, 1.5F, -1};
  EXPECT_EQ(sampler.Sample(row, {}, 0).token, 1U);
}

TEST(Sampler, ALowTemperatureComesNearTheArgmax) {
  const Row row = {1, 1.1F, 1.05F};
  for (std::uint64_t step = 0; step < 100; ++step) {
    EXPECT_EQ(SampleOnce({.temperature = 1e-3}, row, 1, step).token, 1U);
  }
}

TEST(Sampler, LogprobsAreOfTheWholeVocabularyBeforeFiltersAndTemperature) {
  const SamplingParameters parameters = {
      .temperature = 0.5, .top_k = 1, .logit_bias = {{3, 2}}, .top_logprobs = 3
  };
  const SampledToken sampled = SampleOnce(parameters, {1, 2, 0.5F, -1});
  const double log_sum = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(0.5) + std::exp(1.0));
  EXPECT_EQ(sampled.token, 1U);
  ASSERT_TRUE(sampled.logprob);
  EXPECT_NEAR(*sampled.logprob, 2 - log_sum, 1e-14);
  ASSERT_EQ(sampled.top_logprobs.size(), 3U);
  EXPECT_EQ(sampled.top_logprobs[0].token, 1U);
  EXPECT_EQ(sampled.top_logprobs[0].logprob, *sampled.logprob);
  EXPECT_EQ(sampled.top_logprobs[1].token, 0U);  // 1 and -1 + 2 are equal: the lowest id first
  EXPECT_EQ(sampled.top_logprobs[2].token, 3U);
  EXPECT_NEAR(sampled.top_logprobs[2].logprob, 1 - log_sum, 1e-14);
}

TEST(Sampler, LogprobsOnlyWhenAskedFor) {
  EXPECT_FALSE(SampleOnce({.temperature = 1}, {1, 2}).logprob);
  const SampledToken sampled = SampleOnce({.temperature = 1, .top_logprobs = 0}, {1, 2});
  EXPECT_TRUE(sampled.logprob);
  EXPECT_TRUE(sampled.top_logprobs.empty());
}

TEST(Sampler, LogprobsDoNotChangeTheToken) {
  for (std::uint64_t step = 0; step < 50; ++step) {
    const Row row = RandomRow(700, step);
    EXPECT_EQ(
        SampleOnce({.temperature = 1, .top_p = 0.9}, row, 3, step).token,
        SampleOnce({.temperature = 1, .top_p = 0.9, .top_logprobs = 20}, row, 3, step).token
    );
  }
}

// Ties at the edge of the list, and the order of a list over many blocks.
TEST(Sampler, TopLogprobsEqualAFullSort) {
  Row row = RandomRow(5000, 12);
  for (float& logit : row) {
    logit = std::round(logit * 4) / 4;
  }
  const SampledToken sampled = SampleOnce({.top_logprobs = 20}, row);
  ASSERT_EQ(sampled.top_logprobs.size(), 20U);
  std::vector<std::pair<float, TokenId>> order;
  for (TokenId token = 0; token < row.size(); ++token) {
    order.emplace_back(-row[token], token);
  }
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(sampled.top_logprobs[i].token, order[i].second) << i;
  }
}

// Entry 43: in a step where a grammar leaves two tokens, the masked ones are not reported as -inf.
TEST(Sampler, MaskedTokensAreNotReported) {
  Row row(50, kMasked);
  row[7] = 1;
  row[30] = 1;
  for (const double temperature : {0.0, 1.0}) {
    const SampledToken sampled = SampleOnce({.temperature = temperature, .top_logprobs = 5}, row);
    EXPECT_TRUE(sampled.token == 7 || sampled.token == 30);
    ASSERT_EQ(sampled.top_logprobs.size(), 2U);
    EXPECT_EQ(sampled.top_logprobs[0].token, 7U);
    EXPECT_NEAR(sampled.top_logprobs[1].logprob, -std::log(2.0), 1e-15);
    EXPECT_TRUE(std::isfinite(*sampled.logprob));
  }
}

// Entry 44: the row fails, in every mode; the sampler and other rows go on.
TEST(Sampler, NaNFailsItsOwnRow) {
  for (const SamplingParameters& parameters : std::vector<SamplingParameters>{
           {},
           {.temperature = 1},
           {.temperature = 1, .top_k = 1},
           {.temperature = 1, .top_p = 0.5, .frequency_penalty = 1, .top_logprobs = 5},
       }) {
    Sampler sampler(parameters, 3, {.size = 4}, kKernels);
    Row bad = {1, kNan, 2, 0};
    try {
      sampler.Sample(bad, Tokens{1}, 0);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInternal);
      EXPECT_EQ(
          std::string(error.what()),
          "sampling: got NaN as the logit of token 1, wanted a number or -inf"
      );
    }
    Row good = {1, 0, 2, 0};
    Row same = good;
    Sampler fresh(parameters, 3, {.size = 4}, kKernels);
    EXPECT_EQ(sampler.Sample(good, Tokens{1}, 0), fresh.Sample(same, Tokens{1}, 0));
  }
}

// Law 1: the same tokens and log-probabilities from every instruction set, whatever the caller's float mode.
TEST(Sampler, TheMachineDoesNotMatter) {
  std::uint64_t draw = 0;
  const auto pick = [&draw](std::vector<double> values) {
    return values[static_cast<std::size_t>(
        Uniform(Mix(31, draw++)) * static_cast<double>(values.size())
    )];
  };
  const SamplingKernels portable = SamplingKernelsFor(Isa::kPortable);
  for (std::uint64_t round = 0; round < 400; ++round) {
    const SamplingParameters parameters = {
        .temperature = pick({0, 0.1, 0.8, 1, 2}),
        .top_k = static_cast<std::uint32_t>(pick({0, 0, 1, 40, 900})),
        .top_p = pick({1, 0.5, 0.95}),
        .min_p = pick({0, 0, 0.05}),
        .repetition_penalty = pick({1, 1.2}),
        .xtc_probability = pick({0, 0.5}),
        .xtc_threshold = 0.02,
        .top_logprobs = 20,
    };
    Row row = RandomRow(1 + static_cast<std::size_t>(pick({4, 700, 5000})), round);
    if (round % 4 == 0) {
      // Denormal logits are numbers: the largest is chosen.
      for (float& logit : row) {
        logit *= 1e-40F;
      }
    }
    const Tokens history = {1, 2, 3};
    Row once = row;
    const SampledToken wanted =
        Sampler(parameters, round, {.size = row.size()}, portable).Sample(once, history, round);
    for (const Isa isa : AttainableIsas()) {
      for (const FloatMode mode : {FloatMode::kIeee, FloatMode::kKernels}) {
        Sampler sampler(parameters, round, {.size = row.size()}, SamplingKernelsFor(isa));
        Row again = row;
        const FloatModeScope scope(mode);
        const SampledToken got = sampler.Sample(again, history, round);
        EXPECT_EQ(got, wanted) << IsaName(isa) << ", round " << round;
      }
    }
  }
}

TEST(Sampler, NothingToChooseFromIsAnError) {
  EXPECT_THROW(SampleOnce({}, {kMasked, kMasked}), Error);
  EXPECT_THROW(SampleOnce({.temperature = 1}, {kMasked, kMasked}), Error);
  Sampler sampler({}, 0, {.size = 3}, kKernels);
  Row row = {1, 2};
  EXPECT_THROW(sampler.Sample(row, {}, 0), Error);
}

TEST(Sampler, ParametersAreChecked) {
  EXPECT_THROW(Sampler({.top_p = 2}, 0, {.size = 3}, kKernels), Error);
  EXPECT_THROW(Sampler({.logit_bias = {{3, 1}}}, 0, {.size = 3}, kKernels), Error);
}

}  // namespace
}  // namespace hearth
