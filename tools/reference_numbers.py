"""Numbers for reference_layer.py: float32 and bfloat16 arithmetic, sums, and the elementary functions.

A float32 is held in a Python float (a double), which is why every result passes narrow(). Finite numbers only.
"""

import math
import struct

TINY = 2.0**-126 - 2.0**-151  # the least magnitude that does not round to a subnormal float32
MAGIC32, MAGIC64 = 1.5 * 2.0**23, 1.5 * 2.0**52  # added and taken away again, they round to an integer
FLOAT, DOUBLE = struct.Struct("<f"), struct.Struct("<d")
INVERSE_FACTORIAL = [1.0 / math.factorial(n) for n in range(18)]


def narrow(x):
    """To float32. Sums, products, quotients and roots of float32 numbers survive the detour over double."""
    return FLOAT.unpack(FLOAT.pack(x))[0] if abs(x) >= TINY else math.copysign(0.0, x)


def fma(a, b, c):
    """The product is exact in double. The sum is rounded to odd, so that narrow() rounds as if it were exact."""
    product = a * b
    total = product + c
    part = total - product
    error = (product - (total - part)) + (c - part)
    if error != 0.0 and DOUBLE.pack(total)[0] % 2 == 0:
        total = math.nextafter(total, math.copysign(math.inf, error))
    return narrow(total)


def bfloat16(x):
    bits = int.from_bytes(FLOAT.pack(x), "little")
    return FLOAT.unpack((bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).to_bytes(4, "little"))[0]


def tree(lanes):
    for width in (8, 4, 2, 1):
        lanes = [narrow(lanes[i] + lanes[i + width]) for i in range(width)]
    return lanes[0]


def padded(x):
    return x + [0.0] * (-len(x) % 32)


def add_tiles(y, w, x):
    """y + w.x in blocks of 32, the order of a bfloat16 tile product; w and x are whole blocks."""
    for first in range(0, len(w), 32):
        even = odd = 0.0
        for i in range(first, first + 32, 2):
            even, odd = fma(w[i], x[i], even), fma(w[i + 1], x[i + 1], odd)
        y = narrow(y + narrow(even + odd))
    return y


def exp(x):
    if x < -87.25:
        return 0.0
    x = min(x, 88.25)
    n = narrow(fma(x, narrow(1.44269504088896341), MAGIC32) - MAGIC32)
    r = fma(-n, narrow(-2.12194440e-4), fma(-n, 0.693359375, x))
    y = narrow(INVERSE_FACTORIAL[7])
    for i in range(6, -1, -1):
        y = fma(y, r, narrow(INVERSE_FACTORIAL[i]))
    return narrow(y * 2.0**n)


# ---- double, for the angles of rotary positions. Pairs are sums (high, low) that are not carried out.

LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
HALF_PI = [float.fromhex(part) for part in ("0x1.921fb4p+0", "0x1.4442dp-24", "0x1.846988p-48", "0x1.8cc516p-72")]
HALF_PI_LAST = float.fromhex("0x1.01b839a25204ap-96")


def two_sum(a, b):
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a, b):
    big_a, big_b = 134217729.0 * a, 134217729.0 * b
    a_high, b_high = big_a - (big_a - a), big_b - (big_b - b)
    a_low, b_low, product = a - a_high, b - b_high, a * b
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def add(a, b):
    total, error = two_sum(a[0], b[0])
    return two_sum(total, error + (a[1] + b[1]))


def multiply(a, b):
    product, error = two_product(a[0], b[0])
    return two_sum(product, error + (a[0] * b[1] + a[1] * b[0]))


def horner(terms, z):
    y = terms[0]
    for term in terms[1:]:
        y = y * z + term
    return y


def log_pair(x):
    mantissa, e = math.frexp(x)
    mantissa, e = (mantissa, e) if 2.0 * mantissa >= math.sqrt(2.0) else (2.0 * mantissa, e - 1)
    f = mantissa - 1.0
    divisor = two_sum(2.0, f)
    quotient = f / divisor[0]
    back = two_product(quotient, divisor[0])
    s = two_sum(quotient, (((f - back[0]) - back[1]) - quotient * divisor[1]) / divisor[0])
    z = multiply(s, s)
    series = multiply(z, (horner([2.0 / n for n in range(29, 5, -2)], z[0]), 0.0))
    series = multiply(z, add((2.0 / 5, -2.0 / 5 * 2.0**-54), series))
    series = multiply(z, add((2.0 / 3, 2.0 / 3 * 2.0**-54), series))
    return add(add((e * LN2_HIGH, 0.0), two_product(float(e), LN2_LOW)), multiply(s, add((2.0, 0.0), series)))


def power(base, exponent):
    """For base > 0 and results that are normal."""
    if exponent == 0.0 or base == 1.0:
        return 1.0
    x, tail = multiply(log_pair(base), (exponent, 0.0))
    k = (x * float.fromhex("0x1.71547652b82fep+0") + MAGIC64) - MAGIC64
    high, low = x - k * LN2_HIGH, k * LN2_LOW - tail
    r = high - low
    q = horner(INVERSE_FACTORIAL[13:1:-1], r)
    return math.ldexp(1.0 + (r + (r * r * q + ((high - r) - low))), int(k))


def cosine_and_sine(x):
    """For |x| <= 2^29."""
    k = (x * float.fromhex("0x1.45f306dc9c883p-1") + MAGIC64) - MAGIC64
    second = two_sum((x - k * HALF_PI[0]) - k * HALF_PI[1], -(k * HALF_PI[2]))
    third = two_sum(second[0], -(k * HALF_PI[3]))
    r, low = two_sum(third[0], (second[1] + third[1]) - k * HALF_PI_LAST)
    z = r * r
    q = horner([INVERSE_FACTORIAL[n] * (1 if n % 4 == 1 else -1) for n in range(17, 1, -2)], z)
    sine = r + (r * z * q + low * (1.0 - 0.5 * z)) if abs(x) >= 2.0**-28 else x
    q = horner([INVERSE_FACTORIAL[n] * (1 if n % 4 == 0 else -1) for n in range(16, 2, -2)], z)
    head = 1.0 - 0.5 * z
    cosine = head + (((1.0 - head) - 0.5 * z) + (z * z * q - r * low))
    return ((cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine))[int(k) % 4]
