// The constants of ExpEstimate, shared by its variants; of internal linkage, so that no variant exports them.
#pragma once

namespace hearth::exp2f {

constexpr float kLowest = -100.0f;
constexpr float kLog2E = 1.44269504088896341f;
constexpr float kRounder =
    12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits
constexpr int kTerms = 6;
constexpr float kSeries[kTerms] = {
    // ln(2)^k / k! from the fifth power down
    1.33335581e-3f,
    9.61812911e-3f,
    5.55041087e-2f,
    2.40226507e-1f,
    6.93147181e-1f,
    1.0f,
};

}  // namespace hearth::exp2f
