#include "sampling/score_token.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "hearth/error.h"

namespace hearth {
namespace {

std::vector<float> RandomRow(unsigned seed, std::size_t size) {
  std::mt19937 random(seed);
  std::vector<float> row(size);
  for (float& logit : row) {
    logit = std::normal_distribution<float>(0, 3)(random);
  }
  return row;
}

TEST(ScoreToken, IsWhatASamplerReportsOfItsChoice) {
  for (const Isa isa : AttainableIsas()) {
    const SamplingKernels kernels = SamplingKernelsFor(isa);
    for (unsigned seed = 0; seed < 20; ++seed) {
      const std::vector<float> row = RandomRow(seed, 1000 + seed);
      SamplingParameters parameters;
      parameters.temperature = 1;
      parameters.top_logprobs = 7;
      Sampler sampler(parameters, seed, {.size = row.size()}, kernels);
      std::vector<float> own = row;
      const SampledToken sampled = sampler.Sample(own, {}, 0);
      EXPECT_EQ(ScoreToken(row, sampled.token, 7, row.size(), kernels), sampled);
    }
  }
}

TEST(ScoreToken, IsTheLogOfTheSoftmax) {
  const SamplingKernels kernels = SamplingKernelsFor(Isa::kPortable);
  const std::vector<float> row = RandomRow(1, 300);
  double sum = 0;
  for (const float logit : row) {
    sum += std::exp(static_cast<double>(logit));
  }
  for (TokenId token = 0; token < 300; ++token) {
    const SampledToken scored = ScoreToken(row, token, 0, 300, kernels);
    EXPECT_NEAR(*scored.logprob, static_cast<double>(row[token]) - std::log(sum), 1e-9);
    EXPECT_TRUE(scored.top_logprobs.empty());
  }
}

TEST(ScoreToken, RefusesWhatHasNoScore) {
  const SamplingKernels kernels = SamplingKernelsFor(Isa::kPortable);
  std::vector<float> row = RandomRow(1, 30);
  EXPECT_THROW(ScoreToken(row, 30, 0, 30, kernels), Error);
  EXPECT_THROW(ScoreToken(row, 3, 0, 31, kernels), Error);
  row[4] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(ScoreToken(row, 3, 0, 30, kernels), Error);
}

}  // namespace
}  // namespace hearth
