// The constants of VectorExp, shared by its variants; of internal linkage, so that no variant exports them. Source: Cody and Waite's split of ln 2 (ln2_high has 9
// significant bits, so that n * ln2_high is exact); the polynomial is Taylor's, enough for |r| <= ln2 / 2.
#pragma once

namespace hearth {

constexpr float kExpLow = -87.25f;
constexpr float kExpHigh = 88.25f;
constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLn2High = 0.693359375f;
constexpr float kLn2Low = -2.12194440e-4f;
constexpr float kRoundMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
constexpr float kExpPoly[8] = {
    1.0f,
    1.0f,
    0.5f,
    1.0f / 6,
    1.0f / 24,
    1.0f / 120,
    1.0f / 720,
    1.0f / 5040,
};

}  // namespace hearth
