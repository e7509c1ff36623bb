#include "kernels/scalar_math.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "platform/float_mode.h"

namespace hearth {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The stated bound. glibc itself errs by less than one unit.
constexpr double kMaxUlps = 2.0;

// A fixed sequence of doubles in [0, 1) to pick arguments with.
class Arguments {
 public:
  double Next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }

  double Between(double low, double high) { return low + (high - low) * Next(); }

 private:
  std::uint64_t state_ = 7;
};

// How far got is from the truth in units in the last place of the truth. The truth is long double where the
// machine has one that is wider.
double Ulps(double got, long double truth) {
  const double near = static_cast<double>(truth);
  const double unit = std::nextafter(std::fabs(near), kInfinity) - std::fabs(near);
  return static_cast<double>(
      std::fabs(static_cast<long double>(got) - truth) / static_cast<long double>(unit)
  );
}

TEST(ScalarMath, ExpIsWithinTwoUlps) {
  Arguments arguments;
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 2 == 0 ? arguments.Between(-707.9, 709.7) : arguments.Between(-3, 3);
    worst = std::max(worst, Ulps(Exp(x), std::exp(static_cast<long double>(x))));
  }
  RecordProperty("worst_ulps", std::to_string(worst));
  EXPECT_LE(worst, kMaxUlps);
}

TEST(ScalarMath, LogIsWithinTwoUlps) {
  Arguments arguments;
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 3 == 0   ? arguments.Between(0.5, 2)
                     : i % 3 == 1 ? std::exp2(arguments.Between(-1021, 1023))
                                  : 1 + arguments.Between(-1e-6, 1e-6);
    worst = std::max(worst, Ulps(Log(x), std::log(static_cast<long double>(x))));
  }
  RecordProperty("worst_ulps", std::to_string(worst));
  EXPECT_LE(worst, kMaxUlps);
}

TEST(ScalarMath, SinAndCosAreWithinTwoUlps) {
  Arguments arguments;
  const std::array<double, 5> limits = {1.0, 10.0, 1e4, 2e6, 0x1p+29};
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const double limit = limits[static_cast<std::size_t>(i) % limits.size()];
    double x = arguments.Between(-limit, limit);
    if (i % 7 == 0) {  // a float next to a multiple of pi/2, where the reduction cancels most
      x = static_cast<float>(std::floor(x / 1.5707963267948966) * 1.5707963267948966);
    }
    worst = std::max(worst, Ulps(Sin(x), std::sin(static_cast<long double>(x))));
    worst = std::max(worst, Ulps(Cos(x), std::cos(static_cast<long double>(x))));
  }
  RecordProperty("worst_ulps", std::to_string(worst));
  EXPECT_LE(worst, kMaxUlps);
}

TEST(ScalarMath, PowIsWithinTwoUlps) {
  Arguments arguments;
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const double base =
        i % 2 == 0 ? std::exp2(arguments.Between(-40, 40)) : arguments.Between(0.5, 1.5);
    const double reach = 700 / std::fabs(std::log(base));
    const double exponent =
        i % 5 == 0 ? arguments.Between(-1, 0) : arguments.Between(-reach, reach);
    if (std::fabs(exponent * std::log(base)) > 700) {
      continue;
    }
    const long double truth =
        std::pow(static_cast<long double>(base), static_cast<long double>(exponent));
    worst = std::max(worst, Ulps(Pow(base, exponent), truth));
  }
  RecordProperty("worst_ulps", std::to_string(worst));
  EXPECT_LE(worst, kMaxUlps);
}

TEST(ScalarMath, PowOfSmallIntegersIsExact) {
  for (int base = 1; base <= 20; ++base) {
    double product = 1;
    for (int exponent = 0; product < 0x1p+53; ++exponent) {
      EXPECT_EQ(Pow(base, exponent), product) << base << "^" << exponent;
      product *= base;
      if (base == 1 && exponent > 60) {
        break;
      }
    }
  }
  EXPECT_EQ(Pow(2, -10), 0x1p-10);
  EXPECT_EQ(Pow(10000, -0.5), 0.01);
}

TEST(ScalarMath, ExpOfTheEdges) {
  EXPECT_EQ(Exp(0), 1);
  EXPECT_EQ(Exp(-0.0), 1);
  EXPECT_EQ(Exp(-kInfinity), 0);
  EXPECT_EQ(Exp(-708.0001), 0);
  EXPECT_GT(Exp(-708.0), 0);
  EXPECT_EQ(Exp(-1e300), 0);
  EXPECT_EQ(Exp(kInfinity), kInfinity);
  EXPECT_EQ(Exp(709.79), kInfinity);
  EXPECT_LT(Exp(0x1.62e42fefa39efp+9), kInfinity);
  EXPECT_TRUE(std::isnan(Exp(kNan)));
}

TEST(ScalarMath, LogOfTheEdges) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(Log(1)), 0U);
  EXPECT_EQ(Log(0), -kInfinity);
  EXPECT_EQ(Log(-0.0), -kInfinity);
  EXPECT_EQ(Log(5e-324), -kInfinity);  // a subnormal counts as zero
  EXPECT_EQ(Log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(Log(-1)));
  EXPECT_TRUE(std::isnan(Log(-kInfinity)));
  EXPECT_TRUE(std::isnan(Log(kNan)));
}

TEST(ScalarMath, SinAndCosOfTheEdges) {
  EXPECT_EQ(Sin(0), 0);
  EXPECT_EQ(Cos(0), 1);
  EXPECT_EQ(Sin(1e-300), 1e-300);
  EXPECT_EQ(Cos(1e-300), 1);
  EXPECT_EQ(Sin(5e-324), 0);
  for (const double x : {0x1.0000000000001p+29, kInfinity, -kInfinity, kNan}) {
    EXPECT_TRUE(std::isnan(Sin(x))) << x;
    EXPECT_TRUE(std::isnan(Cos(x))) << x;
  }
}

TEST(ScalarMath, PowOfTheEdges) {
  EXPECT_EQ(Pow(0, 0), 1);
  EXPECT_EQ(Pow(kNan, 0), 1);
  EXPECT_EQ(Pow(1, kNan), 1);
  EXPECT_EQ(Pow(0, 2.5), 0);
  EXPECT_EQ(Pow(0, -2.5), kInfinity);
  EXPECT_EQ(Pow(kInfinity, -1), 0);
  EXPECT_EQ(Pow(kInfinity, 1), kInfinity);
  EXPECT_EQ(Pow(2, kInfinity), kInfinity);
  EXPECT_EQ(Pow(0.5, kInfinity), 0);
  EXPECT_EQ(Pow(0.5, -1e300), kInfinity);
  EXPECT_EQ(Pow(2, -1e300), 0);
  EXPECT_EQ(Pow(1e300, 2), kInfinity);
  EXPECT_TRUE(std::isnan(Pow(-2, 2)));
  EXPECT_TRUE(std::isnan(Pow(kNan, 1)));
  EXPECT_TRUE(std::isnan(Pow(2, kNan)));
}

TEST(ScalarMath, ArrayFormHasTheSameBits) {
  Arguments arguments;
  std::vector<double> in = {0, -0.0, kInfinity, -kInfinity, -708, -708.5, 709.78, 709.79, 1e-310};
  for (int i = 0; i < 1000; ++i) {
    in.push_back(arguments.Between(-750, 750));
  }
  std::vector<double> out = in;
  ExpArray(out.data(), out.data(), out.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(out[i]), std::bit_cast<std::uint64_t>(Exp(in[i])))
        << in[i];
  }
}

// A fixed hash of the bits of f over 20000 arguments in [0, 1).
std::uint64_t Hash(const std::function<double(double)>& f) {
  Arguments arguments;
  std::uint64_t sum = 14695981039346656037ULL;
  for (int i = 0; i < 20000; ++i) {
    sum = (sum ^ std::bit_cast<std::uint64_t>(f(arguments.Next()))) * 1099511628211ULL;
  }
  return sum;
}

// Every build, compiler and instruction set must give these bits. A change is a change of the numeric ABI.
TEST(ScalarMath, BitsAreFixed) {
  EXPECT_EQ(Hash([](double u) { return Exp(1400 * u - 700); }), 18389088678953046568ULL);
  EXPECT_EQ(Hash([](double u) { return Log(100 * u); }), 3610212067954466318ULL);
  EXPECT_EQ(Hash([](double u) { return Sin(1e5 * u - 5e4); }), 11527864727000697158ULL);
  EXPECT_EQ(Hash([](double u) { return Cos(1e5 * u - 5e4); }), 9208183255933453790ULL);
  EXPECT_EQ(Hash([](double u) { return Pow(10000, -u); }), 13835426264588350563ULL);
}

// Kernels run with denormals flushed, planning code without: both must see the same numbers.
TEST(ScalarMath, BitsDoNotDependOnTheFloatMode) {
  const std::vector<std::function<double(double)>> functions = {
      [](double u) { return Exp(1600 * u - 800); },
      [](double u) { return Log(u * 0x1p-1021); },
      [](double u) { return Sin((u - 0.5) * 0x1p-1020); },
      [](double u) { return Cos((u - 0.5) * 0x1p-510); },
      [](double u) { return Pow(u * 0x1p-1000, u); },
      [](double u) { return Pow(0.5, 1100 * u); },
  };
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const std::uint64_t usual = Hash(functions[i]);
    const FloatModeScope flush;
    EXPECT_EQ(Hash(functions[i]), usual) << i;
  }
}

}  // namespace
}  // namespace hearth
