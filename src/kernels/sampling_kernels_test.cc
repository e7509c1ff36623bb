// Every variant of the sampling kernels against the portable one, bit by bit, and the portable one against plain loops.
#include "kernels/sampling_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/scalar_math.h"

namespace hearth {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Row = std::vector<float>;
using Random = std::mt19937;

// Sizes around every vector, stretch and block, and one of a vocabulary.
const std::vector<std::size_t> kSizes = {
    0,   1,   2,   3,   7,   8,   9,    15,   16,   17,   31,   32,   33,   63,   64,   65,    100,
    127, 128, 255, 256, 257, 511, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 2303, 4097, 49153,
};

// Logits as they come: coarse ones make ties; some are masked, zeros of both signs, or far away.
Row AnyRow(std::size_t size, Random& random) {
  std::normal_distribution<float> normal(0, 4);
  const bool coarse = random() % 2 == 0;
  Row row(size);
  for (float& value : row) {
    switch (random() % 24) {
      case 0:
        value = -kInfinity;
        break;
      case 1:
        value = random() % 2 == 0 ? 0.0f : -0.0f;
        break;
      case 2:
        value = normal(random) * 1e3f;
        break;
      default:
        value = coarse ? std::round(normal(random)) : normal(random);
    }
  }
  return row;
}

// A row at an odd address.
struct Misaligned {
  explicit Misaligned(const Row& row, std::size_t by) : data(row.size() + by), start(by) {
    std::copy(row.begin(), row.end(), data.begin() + static_cast<std::ptrdiff_t>(by));
  }

  const float* get() const { return data.data() + start; }

  Row data;
  std::size_t start;
};

RowPeak PlainPeak(const Row& row) {
  RowPeak peak{-kInfinity, 0, true};
  for (std::size_t i = 0; i < row.size(); ++i) {
    peak.ordered = peak.ordered && row[i] < kInfinity;
    if (row[i] > peak.value) {
      peak = {row[i], i, peak.ordered};
    }
  }
  return peak;
}

TEST(SamplingKernels, FindRowPeak) {
  Random random(1);
  for (const Isa isa : AttainableIsas()) {
    const SamplingKernels kernels = SamplingKernelsFor(isa);
    for (const std::size_t size : kSizes) {
      for (int round = 0; round < 6; ++round) {
        Row row = AnyRow(size, random);
        if (round == 5) {
          std::fill(row.begin(), row.end(), -kInfinity);
        }
        RowPeak wanted = PlainPeak(row);
        if (size > 0 && wanted.value == -kInfinity) {
          wanted.value = row[0];
        }
        const Misaligned view(row, static_cast<std::size_t>(round));
        const RowPeak got = kernels.find_row_peak(view.get(), size);
        ASSERT_TRUE(got.ordered);
        EXPECT_EQ(got.index, wanted.index) << IsaName(isa) << " of " << size;
        EXPECT_EQ(
            std::bit_cast<std::uint32_t>(got.value), std::bit_cast<std::uint32_t>(wanted.value)
        );
      }
    }
  }
}

TEST(SamplingKernels, FindRowPeakSeesWhatHasNoOrder) {
  Random random(2);
  for (const Isa isa : AttainableIsas()) {
    const SamplingKernels kernels = SamplingKernelsFor(isa);
    for (const std::size_t size : {1u, 5u, 16u, 31u, 64u, 130u, 1024u, 1030u, 3000u}) {
      for (const float wrong : {kNan, -kNan, kInfinity}) {
        for (int round = 0; round < 20; ++round) {
          Row row = AnyRow(size, random);
          row[random() % size] = wrong;
          EXPECT_FALSE(kernels.find_row_peak(row.data(), size).ordered)
              << IsaName(isa) << ", " << wrong << " in " << size;
        }
      }
    }
  }
}

TEST(SamplingKernels, SelectAbove) {
  Random random(3);
  for (const Isa isa : AttainableIsas()) {
    const SamplingKernels kernels = SamplingKernelsFor(isa);
    for (const std::size_t size : kSizes) {
      for (const float threshold : {-kInfinity, -3.0f, 0.0f, -0.0f, 4.0f, 9.5f, kInfinity}) {
        Row row = AnyRow(size, random);
        if (size > 10 && random() % 4 == 0) {
          row[random() % size] = kNan;
        }
        const auto first = static_cast<std::uint32_t>(random() % 1000);
        std::vector<std::uint32_t> wanted;
        for (std::size_t i = 0; i < size; ++i) {
          if (row[i] > threshold) {
            wanted.push_back(first + static_cast<std::uint32_t>(i));
          }
        }
        const Misaligned view(row, random() % 5);
        std::vector<std::uint32_t> got(size + kSelectSlack);
        got.resize(kernels.select_above({view.get(), size, threshold, first, got.data()}));
        EXPECT_EQ(got, wanted) << IsaName(isa) << " of " << size << " above " << threshold;
      }
    }
  }
}

double PlainTotal(const Row& row, double shift) {
  double lanes[16] = {};
  for (std::size_t i = 0; i < row.size(); ++i) {
    lanes[i % 16] += Exp(static_cast<double>(row[i]) - shift);
  }
  for (std::size_t width = 8; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) {
      lanes[lane] += lanes[lane + width];
    }
  }
  return lanes[0];
}

std::vector<double> PlainBlockSums(const Row& row, double shift, double divisor) {
  std::vector<double> sums((row.size() + kExpBlock - 1) / kExpBlock);
  for (std::size_t i = 0; i < row.size(); ++i) {
    sums[i / kExpBlock] += Exp((static_cast<double>(row[i]) - shift) / divisor);
  }
  return sums;
}

TEST(SamplingKernels, ExpTermsTotalAndBlockSums) {
  Random random(4);
  std::uniform_real_distribution<double> logarithm(std::log(1e-6), std::log(100.0));
  for (const Isa isa : AttainableIsas()) {
    const SamplingKernels kernels = SamplingKernelsFor(isa);
    for (const std::size_t size : kSizes) {
      for (int round = 0; round < 4; ++round) {
        const Row row = AnyRow(size, random);
        const float peak = size == 0 ? 0 : *std::max_element(row.begin(), row.end());
        const double shift = peak == -kInfinity ? 0 : static_cast<double>(peak);
        const double divisor = round == 0 ? 1 : std::exp(logarithm(random));
        const Misaligned view(row, random() % 5);
        const ExpSumsArgs args{view.get(), size, shift, divisor};
        std::vector<double> terms(size + 1, 7);
        kernels.exp_terms(args, terms.data());
        EXPECT_EQ(terms[size], 7) << "written past the end";
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_EQ(terms[i], Exp((static_cast<double>(row[i]) - shift) / divisor))
              << IsaName(isa) << " " << i << " of " << size;
        }
        EXPECT_EQ(
            std::bit_cast<std::uint64_t>(kernels.exp_total(args)),
            std::bit_cast<std::uint64_t>(PlainTotal(row, shift))
        ) << IsaName(isa)
          << " of " << size;
        std::vector<double> sums((size + kExpBlock - 1) / kExpBlock, kNan);
        kernels.exp_block_sums(args, sums.data());
        EXPECT_EQ(sums, PlainBlockSums(row, shift, divisor)) << IsaName(isa) << " of " << size;
      }
    }
  }
}

TEST(SamplingKernels, ExpEstimate) {
  Random random(5);
  const SamplingKernels portable = SamplingKernelsFor(Isa::kPortable);
  for (const std::size_t size : kSizes) {
    for (const float spread : {1e-3f, 0.1f, 1.0f, 3.0f, 8.0f, 60.0f}) {
      Row row = AnyRow(size, random);
      for (float& value : row) {
        value = std::min(value, 40.0f) * spread / 4;
      }
      if (size > 2 && spread > 5) {
        row[0] += 25;  // one token above a long tail, which then decides the error
      }
      if (size == 0 || *std::max_element(row.begin(), row.end()) == -kInfinity) {
        continue;
      }
      const float peak = *std::max_element(row.begin(), row.end());
      const Misaligned view(row, random() % 5);
      const ExpEstimateArgs args{view.get(), size, peak};
      const double estimate = portable.exp_estimate(args);
      const double exact = PlainTotal(row, static_cast<double>(peak));
      EXPECT_LT(std::abs(estimate / exact - 1), kExpEstimateError / 2) << size << " " << spread;
      for (const Isa isa : AttainableIsas()) {
        EXPECT_EQ(SamplingKernelsFor(isa).exp_estimate(args), estimate)
            << IsaName(isa) << " of " << size;
      }
    }
  }
}

// Rows of equal values at every distance from the peak: what one term may be wrong by, and the zeros far below.
TEST(SamplingKernels, ExpEstimateOfEveryTerm) {
  const SamplingKernels portable = SamplingKernelsFor(Isa::kPortable);
  for (float x = 0; x > -120; x -= 0.0173f) {
    Row row(35, -kInfinity);
    row[static_cast<std::size_t>(-x * 8) % 35] = x;
    const ExpEstimateArgs args{row.data(), row.size(), 0};
    const double exact = Exp(static_cast<double>(x));
    const double estimate = portable.exp_estimate(args);
    EXPECT_LT(std::abs(estimate - exact), exact * 5e-6 * (1 - static_cast<double>(x)) + 0x1p-100)
        << x;
    for (const Isa isa : AttainableIsas()) {
      EXPECT_EQ(SamplingKernelsFor(isa).exp_estimate(args), estimate) << IsaName(isa) << " " << x;
    }
  }
}

// Every exponent that a term can have, around the border where terms become zero, and steps of one unit around the places
// where the rounding of the exponent turns over.
TEST(SamplingKernels, ExpTermsHaveTheBitsOfExp) {
  Row row;
  for (float x = 0; x > -720; x -= 0.01171875f) {
    row.push_back(x);
  }
  for (const float near : {-708.0f, -707.9999f, -0.34657359f, -1.0397208f, -1e-30f, -88.0f}) {
    float below = near;
    for (int i = 0; i < 40; ++i) {
      row.push_back(below);
      below = std::nextafter(below, -kInfinity);
    }
  }
  for (const Isa isa : AttainableIsas()) {
    const SamplingKernels kernels = SamplingKernelsFor(isa);
    for (const float x : row) {
      for (const double divisor : {1.0, 0.7}) {
        // One term a sum, in every lane of a vector.
        Row block(11, -kInfinity);
        block[static_cast<std::size_t>(std::fabs(x) * 64) % 11] = x;
        double sum = 0;
        kernels.exp_block_sums({block.data(), block.size(), 0, divisor}, &sum);
        ASSERT_EQ(
            std::bit_cast<std::uint64_t>(sum),
            std::bit_cast<std::uint64_t>(0.0 + Exp(static_cast<double>(x) / divisor))
        ) << IsaName(isa)
          << " " << x;
      }
      ASSERT_EQ(kernels.exp_total({&x, 1, 0, 1}), Exp(static_cast<double>(x))) << x;
    }
  }
}

}  // namespace
}  // namespace hearth
