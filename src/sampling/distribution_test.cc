#include "sampling/distribution.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "kernels/scalar_math.h"
#include "sampling/seed.h"

namespace hearth {
namespace {

const SamplingKernels kKernels = SamplingKernelsFor(AttainableIsas().back());
constexpr float kMasked = -std::numeric_limits<float>::infinity();

// Logits between -8 and 8, the same for the same arguments.
std::vector<float> RandomRow(std::size_t size, std::uint64_t seed) {
  std::vector<float> row(size);
  for (std::size_t i = 0; i < size; ++i) {
    row[i] = static_cast<float>(16 * Uniform(Mix(seed, i)) - 8);
  }
  return row;
}

std::string PeakError(const std::vector<float>& row) {
  try {
    FindPeak(row, kKernels);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    return error.what();
  }
}

TEST(Distribution, PeakIsTheLowestIdOfTheLargest) {
  EXPECT_EQ(FindPeak(std::vector<float>{1, 3, 2, 3, 3}, kKernels).token, 1U);
  EXPECT_EQ(FindPeak(std::vector<float>{1, 3, 2, 3, 3}, kKernels).logit, 3.0F);
  EXPECT_EQ(FindPeak(std::vector<float>{kMasked, kMasked, -1e30F}, kKernels).token, 2U);
  EXPECT_EQ(FindPeak(std::vector<float>{-0.0F, 0.0F}, kKernels).token, 0U);
}

// Entry 44 of the known faults.
TEST(Distribution, PeakRefusesWhatIsNoDistribution) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(
      PeakError({1, nan}), "sampling: got NaN as the logit of token 1, wanted a number or -inf"
  );
  EXPECT_EQ(
      PeakError({nan, 1}), "sampling: got NaN as the logit of token 0, wanted a number or -inf"
  );
  EXPECT_EQ(
      PeakError({5, 1, -nan, 2}),
      "sampling: got NaN as the logit of token 2, wanted a number or -inf"
  );
  EXPECT_EQ(
      PeakError({1, -kMasked}),
      "sampling: got +inf as the logit of token 1, wanted a number or -inf"
  );
  EXPECT_EQ(
      PeakError({kMasked, kMasked}),
      "sampling: got -inf for all 2 tokens, wanted at least one that may be chosen"
  );
  EXPECT_NE(PeakError({}), "");
}

TEST(Distribution, SumAgreesWithLibm) {
  for (const std::size_t size : {1U, 15U, 16U, 17U, 255U, 256U, 257U, 1000U, 50000U}) {
    std::vector<float> row = RandomRow(size, size);
    row[size / 2] = 8.5F;
    long double sum = 0;
    for (const float logit : row) {
      sum += std::exp(static_cast<long double>(logit) - 8.5L);
    }
    EXPECT_NEAR(SumOfWeights(row, 8.5F, kKernels) / static_cast<double>(sum), 1, 1e-14) << size;
  }
  EXPECT_EQ(SumOfWeights(std::vector<float>{kMasked, 3, kMasked}, 3, kKernels), 1);
}

// The order of additions is part of the answer: 16 lanes, then halves. 2^-53 vanishes when it is added to 1, but
// not when sixteen of them meet first.
TEST(Distribution, SumHasItsFixedShape) {
  const float tiny = -36.736801F;  // exp of it is about 2^-53
  std::vector<float> row(256, tiny);
  row[0] = 0;
  double lanes[16] = {};
  for (std::size_t i = 0; i < row.size(); ++i) {
    lanes[i % 16] += i == 0 ? 1.0 : Exp(static_cast<double>(tiny));
  }
  for (int width = 8; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) {
      lanes[lane] += lanes[lane + width];
    }
  }
  EXPECT_EQ(SumOfWeights(row, 0, kKernels), lanes[0]);
  double one_by_one = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    one_by_one += i == 0 ? 1.0 : Exp(static_cast<double>(tiny));
  }
  EXPECT_NE(lanes[0], one_by_one);
}

TEST(Distribution, DrawInvertsTheCumulatedProbability) {
  for (const std::size_t size : {1U, 2U, 255U, 256U, 257U, 700U, 5000U}) {
    const std::vector<float> row = RandomRow(size, size);
    const float peak = FindPeak(row, kKernels).logit;
    for (const double temperature : {0.1, 1.0, 3.0}) {
      const Distribution distribution(row, peak, temperature, kKernels);
      for (std::uint64_t i = 0; i < 300; ++i) {
        const double uniform = Uniform(Mix(99, i));
        const TokenId token = distribution.Draw(uniform);
        ASSERT_LT(token, size);
        double below = 0;
        for (TokenId other = 0; other < token; ++other) {
          below += distribution.Probability(other);
        }
        EXPECT_LE(below, uniform + 1e-12);
        EXPECT_GT(below + distribution.Probability(token), uniform - 1e-12);
      }
    }
  }
}

TEST(Distribution, DrawNeverTakesAMaskedToken) {
  // Everything but every 97th token is masked: whole blocks of zeros before, between and after.
  std::vector<float> row(2000, kMasked);
  for (std::size_t i = 300; i < 1500; i += 97) {
    row[i] = static_cast<float>(i % 5);
  }
  const Distribution distribution(row, FindPeak(row, kKernels).logit, 1, kKernels);
  std::vector<double> uniforms = {0, 0x1p-53, 0.5, 1 - 0x1p-53};
  for (std::uint64_t i = 0; i < 5000; ++i) {
    uniforms.push_back(Uniform(Mix(1, i)));
  }
  for (const double uniform : uniforms) {
    EXPECT_NE(row[distribution.Draw(uniform)], kMasked) << uniform;
  }
  EXPECT_EQ(distribution.Draw(0), 300U);
  EXPECT_EQ(distribution.Draw(1 - 0x1p-53), 1464U);
}

TEST(Distribution, DrawSurvivesTheLastUniform) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::vector<float> row = RandomRow(1 + seed % 600, seed);
    row.push_back(kMasked);
    const Distribution distribution(row, FindPeak(row, kKernels).logit, 0.9, kKernels);
    EXPECT_NE(row[distribution.Draw(1 - 0x1p-53)], kMasked) << seed;
  }
}

TEST(Distribution, ExtremeTemperaturesStayDistributions) {
  const std::vector<float> row = {3e38F, -3e38F, 1};
  EXPECT_EQ(Distribution(row, 3e38F, 1e-6, kKernels).Draw(0.999999), 0U);
  const std::vector<float> close = {0, 1e-3F, -1e-3F};
  EXPECT_NEAR(Distribution(close, 1e-3F, 100, kKernels).Probability(2), 1.0 / 3, 1e-4);
}

// Every build and instruction set must give these.
TEST(Distribution, BitsAreFixed) {
  const std::vector<float> row = RandomRow(49152, 5);
  const float peak = FindPeak(row, kKernels).logit;
  EXPECT_EQ(
      std::bit_cast<std::uint64_t>(SumOfWeights(row, peak, kKernels)), 4658926668339187448ULL
  );
  const Distribution distribution(row, peak, 0.7, kKernels);
  std::uint64_t hash = 14695981039346656037ULL;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    hash = (hash ^ distribution.Draw(Uniform(Mix(2, i)))) * 1099511628211ULL;
  }
  EXPECT_EQ(hash, 9337107140152405151ULL);
}

}  // namespace
}  // namespace hearth
