#include "sampling/filters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "sampling/seed.h"

namespace hearth {
namespace {

const SamplingKernels kKernels = SamplingKernelsFor(AttainableIsas().back());
constexpr float kMasked = -std::numeric_limits<float>::infinity();

using Row = std::vector<float>;
using Tokens = std::vector<TokenId>;

Row Logarithms(const std::vector<double>& probabilities) {
  Row row;
  for (const double probability : probabilities) {
    row.push_back(static_cast<float>(std::log(probability)));
  }
  return row;
}

Tokens Survivors(const Row& row) {
  Tokens tokens;
  for (TokenId token = 0; token < row.size(); ++token) {
    if (row[token] != kMasked) {
      tokens.push_back(token);
    }
  }
  return tokens;
}

// xtc_uniform 0 makes XTC act whenever it is on.
Tokens Kept(const SamplingParameters& parameters, const Row& row, const Tokens& exempt = {}) {
  if (!Filters::Active(parameters)) {
    return Survivors(row);
  }
  Filters filters(kKernels);
  Tokens kept;
  for (const Candidate& candidate :
       filters.Keep(parameters, exempt, 0, FindPeak(row, kKernels), row)) {
    EXPECT_EQ(row[candidate.token], candidate.logit);
    kept.push_back(candidate.token);
  }
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  return kept;
}

TEST(Filters, OffIsOff) {
  const Row row = Logarithms({0.5, 0.3, 0.2});
  EXPECT_FALSE(Filters::Active({}));
  EXPECT_EQ(Kept({}, row), (Tokens{0, 1, 2}));
  EXPECT_EQ(Kept({.top_k = 0, .top_p = 1, .min_p = 0}, row), (Tokens{0, 1, 2}));
  EXPECT_EQ(Kept({.top_p = 0}, row), (Tokens{0, 1, 2}));
}

TEST(Filters, TopKTakesTheLowestIdsOfEqualOnes) {
  EXPECT_EQ(Kept({.top_k = 2}, {1, 3, 2, 3, 3}), (Tokens{1, 3}));
  EXPECT_EQ(Kept({.top_k = 4}, {1, 3, 2, 3, 3}), (Tokens{1, 2, 3, 4}));
  EXPECT_EQ(Kept({.top_k = 9}, {1, 3, kMasked}), (Tokens{0, 1}));
}

TEST(Filters, TopPKeepsTheTokenThatCrossesAndItsEquals) {
  EXPECT_EQ(Kept({.top_p = 0.4}, Logarithms({0.1, 0.5, 0.4})), (Tokens{1}));
  EXPECT_EQ(Kept({.top_p = 0.6}, Logarithms({0.1, 0.5, 0.4})), (Tokens{1, 2}));
  EXPECT_EQ(Kept({.top_p = 0.95}, Logarithms({0.1, 0.5, 0.4})), (Tokens{0, 1, 2}));
  EXPECT_EQ(Kept({.top_p = 0.5}, {1, 1, 1, 1, -5}), (Tokens{0, 1, 2, 3}));
  EXPECT_EQ(Kept({.top_p = 1e-12}, {1, 1, 0}), (Tokens{0, 1}));
}

// The mass above must be below p: a token at which it is exactly p goes.
TEST(Filters, TopPIsStrictAtTheThreshold) {
  const Row row = {1, 0, 0};
  const double sum = SumOfWeights(row, 1, kKernels);
  const double top_p = 1 / sum;
  ASSERT_EQ(top_p * sum, 1);
  EXPECT_EQ(Kept({.top_p = top_p}, row), (Tokens{0}));
  EXPECT_EQ(Kept({.top_p = std::nextafter(top_p, 1.0)}, row), (Tokens{0, 1, 2}));
}

TEST(Filters, MinPIsRelativeToThePeak) {
  const Row row = Logarithms({0.5, 0.26, 0.24});
  EXPECT_EQ(Kept({.min_p = 0.5}, row), (Tokens{0, 1}));
  EXPECT_EQ(Kept({.min_p = 1}, {2, 3, 3}), (Tokens{1, 2}));
  EXPECT_EQ(Kept({.min_p = 1, .min_tokens_to_keep = 2}, {2, 3, 2, 1}), (Tokens{0, 1}));
  EXPECT_EQ(Kept({.min_p = 1, .min_tokens_to_keep = 9}, {2, 3, kMasked}), (Tokens{0, 1}));
}

TEST(Filters, MinPKeepsNoMoreThanTopPLeft) {
  const SamplingParameters parameters = {.top_p = 0.6, .min_p = 1, .min_tokens_to_keep = 3};
  EXPECT_EQ(Kept(parameters, Logarithms({0.1, 0.5, 0.3, 0.1})), (Tokens{1, 2}));
}

TEST(Filters, TopKComesAfterTopP) {
  // top_k first would make the second token 0.44 of what is left, and top_p would drop it.
  const Row row = Logarithms({0.45, 0.35, 0.1, 0.1});
  EXPECT_EQ(Kept({.top_k = 2, .top_p = 0.5}, row), (Tokens{0, 1}));
  EXPECT_EQ(Kept({.top_k = 1, .top_p = 0.9}, row), (Tokens{0}));
}

TEST(Filters, XtcDropsAllTopChoicesButTheLeastProbable) {
  const Row row = Logarithms({0.05, 0.4, 0.3, 0.15, 0.1});
  EXPECT_EQ(Kept({.xtc_probability = 1, .xtc_threshold = 0.12}, row), (Tokens{0, 3, 4}));
  EXPECT_EQ(Kept({.xtc_probability = 1, .xtc_threshold = 0.35}, row), (Tokens{0, 1, 2, 3, 4}));
  EXPECT_EQ(Kept({.xtc_probability = 1, .xtc_threshold = 0.5}, row), (Tokens{0, 1, 2, 3, 4}));
  EXPECT_EQ(Kept({.xtc_probability = 1, .xtc_threshold = 0.12}, row, {1}), (Tokens{0, 1, 3, 4}));
  EXPECT_EQ(Kept({.xtc_probability = 1, .xtc_threshold = 0.1}, {1, 1, 1}), (Tokens{0, 1, 2}));
}

TEST(Filters, XtcComesAfterTopPAndBeforeTopK) {
  // Of 0.4, 0.3 and 0.15 renormalized, all are above 0.17; without top_p the last would not be.
  const Row row = Logarithms({0.05, 0.4, 0.3, 0.15, 0.1});
  EXPECT_EQ(Kept({.top_p = 0.8, .xtc_probability = 1, .xtc_threshold = 0.17}, row), (Tokens{3}));
  EXPECT_EQ(Kept({.top_k = 1, .xtc_probability = 1, .xtc_threshold = 0.12}, row), (Tokens{3}));
}

TEST(Filters, XtcActsWithItsProbability) {
  const SamplingParameters parameters = {.xtc_probability = 0.25, .xtc_threshold = 0.1};
  const Row row = {1, 1.5, 1.2F};
  Filters filters(kKernels);
  const Peak peak = FindPeak(row, kKernels);
  EXPECT_EQ(filters.Keep(parameters, {}, 0.25, peak, row).size(), 3U);
  const std::span<const Candidate> kept = filters.Keep(parameters, {}, 0.2499, peak, row);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].token, 0U);
}

// The filters' meaning said plainly: sort the whole row, walk it once a filter.
Tokens KeptBySorting(const SamplingParameters& parameters, const Row& row) {
  Tokens order = Survivors(row);
  std::sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
    return row[a] > row[b] || (row[a] == row[b] && a < b);
  });
  const double peak = static_cast<double>(row[order[0]]);
  const auto weight = [&](TokenId token) {
    return std::exp(static_cast<double>(row[token]) - peak);
  };
  if (parameters.top_p > 0 && parameters.top_p < 1) {
    double total = 0;
    for (const TokenId token : order) {
      total += weight(token);
    }
    Tokens kept;
    for (const TokenId token : order) {
      double above = 0;
      for (std::size_t i = 0; row[order[i]] > row[token]; ++i) {
        above += weight(order[i]);
      }
      if (above < parameters.top_p * total) {
        kept.push_back(token);
      }
    }
    order = kept;
  }
  if (parameters.min_p > 0) {
    std::size_t count = 0;
    while (count < order.size() &&
           (count < parameters.min_tokens_to_keep || weight(order[count]) >= parameters.min_p)) {
      ++count;
    }
    order.resize(count);
  }
  if (parameters.top_k > 0 && order.size() > parameters.top_k) {
    order.resize(parameters.top_k);
  }
  std::sort(order.begin(), order.end());
  return order;
}

TEST(Filters, PartialSelectionEqualsTheFullSort) {
  const std::uint64_t seed = 11;
  std::uint64_t draw = 0;
  const auto pick = [&](std::vector<double> values) {
    return values[static_cast<std::size_t>(
        Uniform(Mix(seed, draw++)) * static_cast<double>(values.size())
    )];
  };
  for (int round = 0; round < 1500; ++round) {
    const auto size = static_cast<std::size_t>(pick({1, 2, 3, 17, 300, 700, 3000}));
    const double spread = pick({0, 1e-6, 1, 5, 20, 100});
    const double grain = pick({0, 0.25, 1});  // a coarse grain makes ties
    Row row(size);
    for (float& logit : row) {
      double value = spread * (Uniform(Mix(seed, draw++)) - 0.5);
      value = grain > 0 ? std::floor(value / grain) * grain : value;
      logit = Uniform(Mix(seed, draw++)) < 0.1 ? kMasked : static_cast<float>(value);
    }
    row[size / 2] = 0.125F;
    const SamplingParameters parameters = {
        .top_k = static_cast<std::uint32_t>(pick({0, 0, 1, 2, 5, 50})),
        .top_p = pick({0, 1, 1e-9, 0.3, 0.77, 0.9, 0.999, 1 - 1e-12}),
        .min_p = pick({0, 0, 1e-7, 0.033, 0.41, 1}),
        .min_tokens_to_keep = static_cast<std::uint32_t>(pick({1, 1, 2, 7})),
    };
    EXPECT_EQ(Kept(parameters, row), KeptBySorting(parameters, row))
        << "size " << size << " spread " << spread << " grain " << grain << " top_k "
        << parameters.top_k << " top_p " << parameters.top_p << " min_p " << parameters.min_p
        << " keep " << parameters.min_tokens_to_keep;
  }
}

}  // namespace
}  // namespace hearth
