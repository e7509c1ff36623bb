// The constants of Exp (kernels/scalar_math.h), shared by its variants; of internal linkage, so that no variant exports
// them.
#pragma once

namespace hearth::exp64 {

constexpr double kLowest = -708.0;
constexpr double kHighest = 0x1.62e42fefa39efp+9;  // the largest x whose e^x is finite

// ln 2 in two parts; the first has 32 bits, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2E = 0x1.71547652b82fep+0;

// Adding and subtracting 1.5 * 2^52 rounds to the nearest integer; the sum's low bits are that integer.
constexpr double kRounder = 0x1.8p+52;

// Taylor's series from r^13 down to r^2; |r| <= 0.3466, so the first term left out is below 2^-57.
constexpr int kTerms = 12;
constexpr double kSeries[kTerms] = {
    1.0 / 6227020800.0,
    1.0 / 479001600.0,
    1.0 / 39916800.0,
    1.0 / 3628800.0,
    1.0 / 362880.0,
    1.0 / 40320.0,
    1.0 / 5040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
};

}  // namespace hearth::exp64
