// Elementary functions in double with one fixed sequence of additions, multiplications and divisions.
// They exist because libm's results differ between CPUs and versions, while everything that reaches
// logits or a sampled token must have the same bits everywhere. They know nothing of tensors.
//
// Same bits: plain IEEE double in round-to-nearest, no fused multiply-add, no tables. Subnormal arguments count as
// zero and no result is subnormal, so flush-to-zero modes change nothing.
// Accuracy:  at most 2 units in the last place of the true value (measured: below 1; the test states it).
// Threads:   pure functions. Errors: none; NaN in gives NaN out.
#pragma once

#include <cstddef>

namespace hearth {

// e^x. 0 below -708 (where the result would near the subnormals), +inf above 709.78; Exp(0) is exactly 1.
double Exp(double x);

// out[i] = Exp(in[i]), the same bits as one at a time, several times as fast.
// Shapes:    in, out [count]; out may be in itself, other overlaps are not allowed.
void ExpArray(const double* in, double* out, std::size_t count);

// Natural logarithm. Log(1) is exactly 0, Log(0) is -inf, a negative x gives NaN.
double Log(double x);

// Sine and cosine of x radians for |x| <= 2^29, exact argument reduction; NaN beyond that and for infinities.
double Sin(double x);
double Cos(double x);

// base^exponent for base >= 0; a negative base gives NaN. Exact whenever the result is a small integer.
// Results below e^-708 are 0. Pow(x, 0) and Pow(1, y) are 1.
double Pow(double base, double exponent);

}  // namespace hearth
