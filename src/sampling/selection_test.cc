#include "sampling/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/scalar_math.h"
#include "sampling/distribution.h"
#include "sampling/nucleus.h"
#include "sampling/seed.h"

namespace hearth {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
const SamplingKernels kKernels = SamplingKernelsFor(AttainableIsas().back());

using Row = std::vector<float>;
using Candidates = std::vector<Candidate>;

// Logits in steps of `grain`, a tenth of them masked.
Row AnyRow(std::size_t size, double spread, double grain, std::uint64_t seed) {
  Row row(size);
  for (std::size_t i = 0; i < size; ++i) {
    const double value = spread * (Uniform(Mix(seed, 2 * i)) - 0.5);
    const bool masked = Uniform(Mix(seed, 2 * i + 1)) < 0.1;
    row[i] = masked ? kMasked : static_cast<float>(std::floor(value / grain) * grain);
  }
  row[size / 2] = static_cast<float>(spread);
  return row;
}

Candidates SortedAbove(const Row& row, float threshold) {
  Candidates all;
  for (TokenId token = 0; token < row.size(); ++token) {
    if (row[token] > threshold) {
      all.push_back({.logit = row[token], .token = token});
    }
  }
  std::sort(all.begin(), all.end(), Before);
  return all;
}

TEST(Selection, TopAndAboveEqualAFullSort) {
  Selection selection(kKernels);
  Candidates got;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (const std::size_t size : {1U, 40U, 63U, 500U, 4097U, 20000U}) {
      Row row = AnyRow(size, seed % 3 == 0 ? 1e-2 : 20, seed % 2 == 0 ? 0.5 : 1e-7, seed);
      if (seed % 5 == 0) {
        std::sort(row.begin(), row.end());  // ascending: every token is among the best so far
      }
      for (const float threshold : {kMasked, 2.0F, 100.0F}) {
        Candidates wanted = SortedAbove(row, threshold);
        selection.Above(row, threshold, got);
        EXPECT_TRUE(std::is_sorted(got.begin(), got.end(), [](const auto& a, const auto& b) {
          return a.token < b.token;
        }));
        std::sort(got.begin(), got.end(), Before);
        EXPECT_EQ(got, wanted);
        for (const std::size_t count : {0U, 1U, 2U, 20U, 40U, 3000U}) {
          selection.Top(row, count, threshold, got);
          std::sort(got.begin(), got.end(), Before);
          Candidates first = wanted;
          first.resize(std::min(first.size(), count));
          EXPECT_EQ(got, first) << count << " of " << size << ", seed " << seed;
        }
      }
    }
  }
}

// The definition, one token after the other over the whole order.
float EdgeByWalking(const Candidates& order, double peak, double wanted) {
  double running = 0;
  double above = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && order[i].logit != order[i - 1].logit) {
      above = running;
      if (above >= wanted) {
        return order[i - 1].logit;
      }
    }
    running += Exp(static_cast<double>(order[i].logit) - peak);
  }
  return order.back().logit;
}

TEST(Nucleus, EdgeIsThatOfTheWalk) {
  Candidates scratch;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const std::size_t size : {1U, 200U, 513U, 3000U, 20000U}) {
      for (const double spread : {1e-5, 1.0, 12.0, 60.0}) {
        const Row row = AnyRow(size, spread, seed % 3 == 0 ? spread / 7 : 1e-6, seed);
        const Candidates order = SortedAbove(row, kMasked);
        Candidates candidates = order;
        std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
          return a.token < b.token;
        });
        const float peak = order.front().logit;
        const double sum = SumOfWeights(row, peak, kKernels);
        for (const double top_p : {1e-9, 0.1, 0.5, 0.9, 0.95, 0.9999, 1 - 1e-12}) {
          EXPECT_EQ(
              NucleusEdge(candidates, static_cast<double>(peak), top_p, sum, kKernels, scratch),
              EdgeByWalking(order, static_cast<double>(peak), top_p * sum)
          ) << top_p
            << " of " << size << ", spread " << spread << ", seed " << seed;
        }
      }
    }
  }
}

// Cuts exactly at a sum of the walk, where the next bit of `wanted` decides: the order of the additions matters.
TEST(Nucleus, EdgeIsThatOfTheWalkAtItsVerySums) {
  Candidates scratch;
  const Row row = AnyRow(2000, 3, 1e-6, 5);
  const Candidates order = SortedAbove(row, kMasked);
  const double peak = static_cast<double>(order.front().logit);
  double running = 0;
  for (const Candidate& candidate : order) {
    running += Exp(static_cast<double>(candidate.logit) - peak);
    for (const double wanted :
         {std::nextafter(running, 0), running, std::nextafter(running, 1e9)}) {
      // With a sum that is a power of two, top_p * sum is `wanted` itself.
      const double sum = 4096;
      ASSERT_EQ(
          NucleusEdge(order, peak, wanted / sum, sum, kKernels, scratch),
          EdgeByWalking(order, peak, wanted)
      ) << wanted;
    }
  }
}

TEST(DrawKept, IsTheDrawOfTheWholeRow) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::size_t size = 1 + seed * 97;
    Row row = AnyRow(size, 10, 1e-5, seed);
    // What stays: a few, or nearly all; blocks of the sum without any.
    for (std::size_t i = 0; i < size; ++i) {
      if (i != size / 2 && (Uniform(Mix(seed, 77 + i)) < 0.05 * static_cast<double>(seed % 20))) {
        row[i] = kMasked;
      }
    }
    Candidates kept;
    Selection(kKernels).Above(row, kMasked, kept);
    const float peak = FindPeak(row, kKernels).logit;
    for (const double temperature : {1e-3, 0.3, 1.0, 4.0}) {
      const Distribution whole(row, peak, temperature, kKernels);
      for (std::uint64_t i = 0; i < 200; ++i) {
        const double uniform = i == 0 ? 0 : i == 1 ? 1 - 0x1p-53 : Uniform(Mix(seed, i));
        ASSERT_EQ(DrawKept(kept, peak, temperature, uniform, kKernels), whole.Draw(uniform));
      }
    }
  }
}

}  // namespace
}  // namespace hearth
