// Filters and processors against mlx-lm's; tests/data/sampling/README.md says what the cases are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "hearth/sampling_parameters.h"
#include "hearth/token.h"
#include "sampling/distribution.h"
#include "sampling/filters.h"
#include "sampling/processors.h"
#include "support/fixtures.h"
#include "support/npz.h"

namespace hearth {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

using Tokens = std::vector<TokenId>;

class Parity : public testing::Test {
 protected:
  Parity()
      : document_(LoadJson(FixtureDir("sampling") / "sampling.json")),
        arrays_(ReadNpz(FixtureDir("sampling") / "sampling.npz")) {}

  // Calls check(case) for each of a kind and returns how many there were.
  template <typename Check>
  std::size_t ForEach(const std::string& kind, const Check& check) const {
    std::size_t count = 0;
    for (const nlohmann::json& entry : document_.at("cases")) {
      if (entry.at("kind") == kind) {
        SCOPED_TRACE(entry.dump());
        check(entry);
        ++count;
      }
    }
    return count;
  }

  std::vector<float> Logits(const nlohmann::json& entry) const {
    return Values<float>("logits_" + entry.at("logits").get<std::string>());
  }

  template <typename T>
  std::vector<T> Answer(const nlohmann::json& entry, const std::string& what) const {
    return Values<T>(entry.at("id").get<std::string>() + "_" + what);
  }

  Tokens AnswerTokens(const nlohmann::json& entry, const std::string& what) const {
    Tokens tokens;
    for (const std::int32_t token : Answer<std::int32_t>(entry, what)) {
      tokens.push_back(static_cast<TokenId>(token));
    }
    return tokens;
  }

 private:
  template <typename T>
  std::vector<T> Values(const std::string& name) const {
    const auto values = arrays_.at(name).template values<T>();
    return {values.begin(), values.end()};
  }

  nlohmann::json document_;
  Npz arrays_;

 protected:
  const SamplingKernels kernels_ = SamplingKernelsFor(AttainableIsas().back());
};

SamplingParameters ParametersOf(const nlohmann::json& entry) {
  SamplingParameters parameters;
  for (const auto& [name, value] : entry.at("params").items()) {
    if (name == "top_p") {
      parameters.top_p = value;
    } else if (name == "min_p") {
      parameters.min_p = value;
    } else if (name == "keep") {
      parameters.min_tokens_to_keep = value;
    } else if (name == "top_k") {
      parameters.top_k = value;
    } else if (name == "repetition_penalty") {
      parameters.repetition_penalty = value;
    } else if (name == "repetition_context_size") {
      parameters.repetition_context = value;
    } else if (name == "presence_penalty") {
      parameters.presence_penalty = value;
    } else if (name == "presence_context_size") {
      parameters.presence_context = value;
    } else if (name == "frequency_penalty") {
      parameters.frequency_penalty = value;
    } else if (name == "frequency_context_size") {
      parameters.frequency_context = value;
    } else if (name == "logit_bias") {
      for (const auto& [token, bias] : value.items()) {
        parameters.logit_bias.push_back(
            {.token = static_cast<TokenId>(std::stoul(token)), .bias = bias}
        );
      }
    } else {
      ADD_FAILURE() << "unknown parameter " << name;
    }
  }
  parameters.temperature = entry.value("temperature", 0.0);
  Validate(parameters);
  return parameters;
}

// What both lists hold; each is ascending.
Tokens Common(const Tokens& a, const Tokens& b) {
  Tokens common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return common;
}

TEST_F(Parity, FiltersKeepTheSameTokensWithTheSameProbabilities) {
  const std::size_t count = ForEach("filter", [&](const nlohmann::json& entry) {
    const SamplingParameters parameters = ParametersOf(entry);
    std::vector<float> row = Logits(entry);
    Filters filters(kernels_);
    const std::span<const Candidate> candidates =
        filters.Keep(parameters, {}, 0, FindPeak(row, kernels_), row);
    std::fill(row.begin(), row.end(), kMasked);
    Tokens kept;
    for (const Candidate& candidate : candidates) {
      row[candidate.token] = candidate.logit;
      kept.push_back(candidate.token);
    }
    const float peak = FindPeak(row, kernels_).logit;
    const Distribution distribution(row, peak, parameters.temperature, kernels_);

    const Tokens wanted = AnswerTokens(entry, "kept");
    const auto probabilities = Answer<float>(entry, "prob");
    ASSERT_EQ(wanted.size(), entry.at("kept").get<std::size_t>());
    ASSERT_EQ(wanted.size(), probabilities.size());
    const Tokens common = Common(kept, wanted);
    if (!entry.value("sensitive", false)) {
      EXPECT_EQ(kept, wanted);
    } else {
      // One set lies in the other, and ends between where float32 and float64 end.
      const std::size_t in_double = entry.at("kept_float64");
      EXPECT_EQ(common.size(), std::min(kept.size(), wanted.size()));
      EXPECT_GE(kept.size(), std::min(wanted.size(), in_double));
      EXPECT_LE(kept.size(), std::max(wanted.size(), in_double));
    }

    // The shares of the common tokens; where the sets are equal the sums are 1.
    double our_sum = 0;
    double their_sum = 0;
    std::vector<std::pair<double, double>> shares;
    for (const TokenId token : common) {
      const auto place = std::lower_bound(wanted.begin(), wanted.end(), token) - wanted.begin();
      const double theirs = static_cast<double>(probabilities[static_cast<std::size_t>(place)]);
      shares.emplace_back(distribution.Probability(token), theirs);
      our_sum += shares.back().first;
      their_sum += theirs;
    }
    if (kept == wanted) {
      EXPECT_NEAR(our_sum, 1, 1e-12);
      our_sum = 1;
      their_sum = 1;
    }
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const double theirs = shares[i].second / their_sum;
      EXPECT_NEAR(shares[i].first / our_sum, theirs, 1e-5 * theirs + 1e-8) << common[i];
    }
  });
  EXPECT_GT(count, 0U);
  if (UsesBuiltInFixtures()) {
    EXPECT_EQ(count, 214U);
  }
}

TEST_F(Parity, ProcessorsChangeTheSameLogits) {
  Processors processors;  // one for all cases: nothing may be left from one to the next
  const std::size_t count = ForEach("processors", [&](const nlohmann::json& entry) {
    const std::vector<float> before = Logits(entry);
    std::vector<float> wanted = before;
    const Tokens changed = AnswerTokens(entry, "idx");
    const auto values = Answer<float>(entry, "val");
    ASSERT_EQ(changed.size(), values.size());
    for (std::size_t i = 0; i < changed.size(); ++i) {
      wanted.at(changed[i]) = values[i];
    }

    std::vector<float> row = before;
    processors.Apply(ParametersOf(entry), row, entry.at("history").get<Tokens>());
    for (std::size_t token = 0; token < row.size(); ++token) {
      if (std::binary_search(changed.begin(), changed.end(), token)) {
        const double theirs = static_cast<double>(wanted[token]);
        EXPECT_NEAR(static_cast<double>(row[token]), theirs, 1e-5 * std::fabs(theirs) + 1e-6)
            << token;
      } else {
        EXPECT_EQ(row[token], before[token]) << token;
      }
    }
  });
  EXPECT_GT(count, 0U);
  if (UsesBuiltInFixtures()) {
    EXPECT_EQ(count, 280U);
  }
}

}  // namespace
}  // namespace hearth
