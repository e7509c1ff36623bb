#include "platform/random_seed.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace hearth {
namespace {

// Entry 53 of the known faults: no seed given, yet equal texts. Equal values among 1000 of 64 bits have odds of 3e-14.
TEST(RandomSeed, EveryCallIsFresh) {
  std::set<std::uint64_t> seen;
  std::uint64_t ones = 0;
  std::uint64_t zeros = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t seed = FreshSeed();
    seen.insert(seed);
    ones |= seed;
    zeros |= ~seed;
  }
  EXPECT_EQ(seen.size(), 1000U);
  EXPECT_EQ(ones, ~0ULL) << "some bit is never set";
  EXPECT_EQ(zeros, ~0ULL) << "some bit is always set";
}

}  // namespace
}  // namespace hearth
