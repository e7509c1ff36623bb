#include "kernels/scalar_math.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/exp64_constants.h"

namespace hearth {
namespace {

using exp64::kLn2High;
using exp64::kLn2Low;
using exp64::kLog2E;
using exp64::kRounder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallestNormal = std::numeric_limits<double>::min();

// e^(x + tail) with |tail| far below |x|. No branches, so that the array form vectorizes.
inline double ExpCore(double x, double tail) {
  double clamped = x < exp64::kLowest ? exp64::kLowest : x;
  clamped = clamped > exp64::kHighest ? exp64::kHighest : clamped;
  const double shifted = clamped * kLog2E + kRounder;
  const double k = shifted - kRounder;
  const double high = clamped - k * kLn2High;
  const double low = k * kLn2Low - tail;
  const double r = high - low;
  double q = exp64::kSeries[0];
  for (int i = 1; i < exp64::kTerms; ++i) {
    q = q * r + exp64::kSeries[i];
  }
  // What r's rounding lost is given back before the large 1 is added.
  const double lost = (high - r) - low;
  const double value = 1.0 + (r + (r * r * q + lost));
  // 2^k in two factors, since 2^1024 is no double. Bits of k + 2048 keep the halving free of signs.
  const std::uint64_t biased = std::bit_cast<std::uint64_t>(shifted + 2048.0) & 0xfff;
  const std::uint64_t half = biased >> 1;
  const double first = std::bit_cast<double>((half - 1) << 52);
  const double second = std::bit_cast<double>((biased - half - 1) << 52);
  const double scaled = value * first * second;
  const double bounded = x < exp64::kLowest ? 0.0 : scaled;
  return x > exp64::kHighest ? kInfinity : bounded;
}

// An unevaluated sum: the value is high + low, |low| <= half a unit in the last place of high.
struct Pair {
  double high;
  double low;
};

Pair TwoSum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// Dekker's exact product, by splitting each factor into 26 and 27 bits (Veltkamp).
Pair TwoProduct(double a, double b) {
  constexpr double kSplitter = 134217729.0;  // 2^27 + 1
  const double a_big = kSplitter * a;
  const double a_high = a_big - (a_big - a);
  const double a_low = a - a_high;
  const double b_big = kSplitter * b;
  const double b_high = b_big - (b_big - b);
  const double b_low = b - b_high;
  const double product = a * b;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

Pair Add(Pair a, Pair b) {
  const Pair sum = TwoSum(a.high, b.high);
  return TwoSum(sum.high, sum.low + (a.low + b.low));
}

Pair Multiply(Pair a, Pair b) {
  const Pair product = TwoProduct(a.high, b.high);
  return TwoSum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

// x = mantissa * 2^exponent with sqrt(1/2) <= mantissa < sqrt(2). x is normal, positive and finite.
struct Decomposed {
  double mantissa;
  double exponent;
};

Decomposed Decompose(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  std::int64_t exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (mantissa >= 0x1.6a09e667f3bcdp+0) {
    mantissa *= 0.5;
    ++exponent;
  }
  return {mantissa, static_cast<double>(exponent)};
}

// 2/first + z * 2/(first+2) + ... + z^m * 2/last: a stretch of 2 atanh(s)/s in z = s^2 <= 0.0295.
template <int first, int last>
double AtanhTail(double z) {
  double sum = 2.0 / last;
  for (int divisor = last - 2; divisor >= first; divisor -= 2) {
    sum = sum * z + 2.0 / divisor;
  }
  return sum;
}

// ln x to about 75 bits (a power of 700 still leaves 64 behind the point), for x normal, positive and finite.
Pair LogPair(double x) {
  const auto [mantissa, exponent] = Decompose(x);
  const double f = mantissa - 1.0;
  // s = f / (2 + f) and its remainder; ln(1 + f) = 2 atanh(s) = 2s + 2/3 s^3 + 2/5 s^5 + ...
  const Pair divisor = TwoSum(2.0, f);
  const double quotient = f / divisor.high;
  const Pair back = TwoProduct(quotient, divisor.high);
  const double rest = ((f - back.high) - back.low) - quotient * divisor.low;
  const Pair s = TwoSum(quotient, rest / divisor.high);
  const Pair z = Multiply(s, s);
  Pair series = Multiply(z, {AtanhTail<7, 29>(z.high), 0.0});
  series = Multiply(z, Add({0x1.999999999999ap-2, -0x1.999999999999ap-56}, series));
  series = Multiply(z, Add({0x1.5555555555555p-1, 0x1.5555555555555p-55}, series));
  const Pair mantissa_log = Multiply(s, Add({2.0, 0.0}, series));
  const Pair exponent_log = Add({exponent * kLn2High, 0.0}, TwoProduct(exponent, kLn2Low));
  return Add(exponent_log, mantissa_log);
}

// x - k * pi/2 as a pair, and k's last two bits. pi/2 is cut into parts of 24 bits, whose products with k are
// exact, and a last one of 53.
struct Reduced {
  Pair angle;
  std::uint64_t quadrant;
};

Reduced ReduceByHalfPi(double x) {
  const double shifted = x * 0x1.45f306dc9c883p-1 + kRounder;
  const double k = shifted - kRounder;
  const double first = (x - k * 0x1.921fb4p+0) - k * 0x1.4442dp-24;
  const Pair second = TwoSum(first, -(k * 0x1.846988p-48));
  const Pair third = TwoSum(second.high, -(k * 0x1.8cc516p-72));
  const double low = (second.low + third.low) - k * 0x1.01b839a25204ap-96;
  return {TwoSum(third.high, low), std::bit_cast<std::uint64_t>(shifted) & 3};
}

// Taylor's series on |r| <= pi/4 (terms left out are below 2^-58), with the angle's low part to first order.
double SinCore(Pair angle) {
  const double r = angle.high;
  const double z = r * r;
  double q = 1.0 / 355687428096000.0;
  q = q * z - 1.0 / 1307674368000.0;
  q = q * z + 1.0 / 6227020800.0;
  q = q * z - 1.0 / 39916800.0;
  q = q * z + 1.0 / 362880.0;
  q = q * z - 1.0 / 5040.0;
  q = q * z + 1.0 / 120.0;
  q = q * z - 1.0 / 6.0;
  return r + (r * z * q + angle.low * (1.0 - 0.5 * z));
}

double CosCore(Pair angle) {
  const double r = angle.high;
  const double z = r * r;
  double q = 1.0 / 20922789888000.0;
  q = q * z - 1.0 / 87178291200.0;
  q = q * z + 1.0 / 479001600.0;
  q = q * z - 1.0 / 3628800.0;
  q = q * z + 1.0 / 40320.0;
  q = q * z - 1.0 / 720.0;
  q = q * z + 1.0 / 24.0;
  const double half = 0.5 * z;
  const double head = 1.0 - half;
  return head + (((1.0 - head) - half) + (z * z * q - r * angle.low));
}

constexpr double kAngleLimit = 0x1p+29;
constexpr double kTinyAngle = 0x1p-28;

bool IsAngle(double x) {
  return x >= -kAngleLimit && x <= kAngleLimit;
}

}  // namespace

double Exp(double x) {
  return ExpCore(x, 0.0);
}

void ExpArray(const double* in, double* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = ExpCore(in[i], 0.0);
  }
}

double Log(double x) {
  if (!(x >= kSmallestNormal)) {
    return x <= -kSmallestNormal || x != x ? kNan : -kInfinity;
  }
  if (x == kInfinity) {
    return x;
  }
  const auto [mantissa, exponent] = Decompose(x);
  const double f = mantissa - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double half_square = 0.5 * f * f;
  // ln(1 + f) = f - (f^2/2 - s (f^2/2 + tail)): the same series, arranged so that the exact f comes last.
  const double tail = z * AtanhTail<3, 21>(z);
  const double correction = s * (half_square + tail) + exponent * kLn2Low;
  return exponent * kLn2High - ((half_square - correction) - f);
}

double Sin(double x) {
  if (!IsAngle(x)) {
    return kNan;
  }
  if (x > -kTinyAngle && x < kTinyAngle) {
    return x >= kSmallestNormal || x <= -kSmallestNormal ? x : 0.0;
  }
  const Reduced reduced = ReduceByHalfPi(x);
  const double value =
      (reduced.quadrant & 1) != 0 ? CosCore(reduced.angle) : SinCore(reduced.angle);
  return (reduced.quadrant & 2) != 0 ? -value : value;
}

double Cos(double x) {
  if (!IsAngle(x)) {
    return kNan;
  }
  const Reduced reduced = ReduceByHalfPi(x);
  const double value =
      (reduced.quadrant & 1) != 0 ? SinCore(reduced.angle) : CosCore(reduced.angle);
  return ((reduced.quadrant + 1) & 2) != 0 ? -value : value;
}

double Pow(double base, double exponent) {
  if (exponent == 0.0 || base == 1.0) {
    return 1.0;
  }
  if (base != base || exponent != exponent || base <= -kSmallestNormal) {
    return kNan;
  }
  const double vast = exponent > 0.0 ? kInfinity : 0.0;   // a base above 1 to a large power
  const double small = exponent > 0.0 ? 0.0 : kInfinity;  // a base below 1 to a large power
  if (base < kSmallestNormal) {
    return small;
  }
  if (base == kInfinity) {
    return vast;
  }
  // Beyond 2^70 any base but 1 overflows or vanishes; below it the exact product cannot overflow.
  if (exponent > 0x1p+70 || exponent < -0x1p+70) {
    return base > 1.0 ? vast : small;
  }
  const Pair power = Multiply(LogPair(base), {exponent, 0.0});
  if (power.high < -1000.0 || power.high > 1000.0) {
    return base > 1.0 ? vast : small;
  }
  return ExpCore(power.high, power.low);
}

}  // namespace hearth
