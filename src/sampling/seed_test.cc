#include "sampling/seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <vector>

namespace hearth {
namespace {

TEST(Seed, KeysOfAStreamNeverRepeat) {
  for (const std::uint64_t seed : {0ULL, 1ULL, 42ULL, ~0ULL}) {
    std::set<std::uint64_t> keys;
    for (std::uint64_t step = 0; step < 10000; ++step) {
      keys.insert(Mix(seed, step));
    }
    EXPECT_EQ(keys.size(), 10000U) << seed;
  }
}

// Entry 53 of the known faults: seeds that are neighbours, or that differ by the mixer's own increment, must not share
// a stream, not even a shifted one.
TEST(Seed, StreamsOfRelatedSeedsDoNotMeet) {
  std::set<std::uint64_t> keys;
  std::size_t count = 0;
  for (const std::uint64_t seed :
       {0x0ULL, 0x1ULL, 0x2ULL, 0x9e3779b97f4a7c15ULL, 0x3c6ef372fe94f82aULL}) {
    for (std::uint64_t step = 0; step < 1000; ++step) {
      keys.insert(Mix(seed, step));
      ++count;
    }
  }
  EXPECT_EQ(keys.size(), count);
}

// Each flipped bit of either word flips about half of the key.
TEST(Seed, EveryInputBitReachesEveryOutputBit) {
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t mask = 1ULL << bit;
    int flipped_by_seed = 0;
    int flipped_by_counter = 0;
    for (std::uint64_t sample = 0; sample < 1000; ++sample) {
      const std::uint64_t seed = sample * 0x123456789abcdefULL;
      const std::uint64_t key = Mix(seed, sample);
      flipped_by_seed += std::popcount(key ^ Mix(seed ^ mask, sample));
      flipped_by_counter += std::popcount(key ^ Mix(seed, sample ^ mask));
    }
    // 64000 coin flips: six standard deviations are 759.
    EXPECT_NEAR(flipped_by_seed, 32000, 759) << bit;
    EXPECT_NEAR(flipped_by_counter, 32000, 759) << bit;
  }
}

TEST(Seed, ChoicesDifferAndDoNotDependOnTheirNumber) {
  std::set<std::uint64_t> seeds = {7};
  for (std::uint32_t choice = 0; choice < 100; ++choice) {
    seeds.insert(ChoiceSeed(7, choice));
    EXPECT_EQ(ChoiceSeed(7, choice), Mix(7, choice));
  }
  EXPECT_EQ(seeds.size(), 101U);
}

TEST(Seed, UniformStaysBelowOneAndIsEven) {
  EXPECT_EQ(Uniform(0), 0);
  EXPECT_EQ(Uniform(~0ULL), 1 - 0x1p-53);
  EXPECT_LT(Uniform(~0ULL), 1);
  // Kolmogorov and Smirnov's distance of 10000 draws; 1.95 / sqrt(n) is passed once in a thousand.
  for (const bool by_seed : {false, true}) {
    std::vector<double> draws;
    for (std::uint64_t i = 0; i < 10000; ++i) {
      draws.push_back(Uniform(by_seed ? Mix(i, 3) : Mix(3, i)));
    }
    std::sort(draws.begin(), draws.end());
    double distance = 0;
    for (std::size_t i = 0; i < draws.size(); ++i) {
      distance = std::max(distance, std::abs(draws[i] - (static_cast<double>(i) + 0.5) / 10000));
    }
    EXPECT_LT(distance, 0.0195) << by_seed;
  }
}

// Recorded texts are replayed from their seeds: these words are part of the numeric ABI.
TEST(Seed, KeysAreFixed) {
  EXPECT_EQ(Mix(0, 0), 12035550249420947055ULL);
  EXPECT_EQ(Mix(42, 0), 6332618229526065668ULL);
  EXPECT_EQ(Mix(42, 1), 17630415256238047317ULL);
  EXPECT_EQ(Mix(~0ULL, ~0ULL), 4922461756044938104ULL);
}

}  // namespace
}  // namespace hearth
