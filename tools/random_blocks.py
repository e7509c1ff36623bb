"""Random weights as blocks of GGUF's tensor types, centred and of a given root mean square; used by make_model.py.

Blocks are drawn as such: random codes, and scales of the right size, of both signs where one alone would not centre the
weights. Each entry of DRAWS takes the root mean square and gives a function (Randomness, count) -> `count` blocks.
"""

import hashlib
import math
import statistics
import struct


class Randomness:
    """Bytes that depend on the seed and the tensor's name only."""

    def __init__(self, seed, name):
        self._key, self._piece = f"{seed}/{name}/", 0

    def bytes(self, count):
        self._piece += 1
        return hashlib.shake_128(f"{self._key}{self._piece}".encode()).digest(count)


def tables(form, values):
    """For 256 values of two bytes: the translation of a random byte to the low byte of one, and to the high byte."""
    packed = [struct.pack(form, value) for value in values]
    return bytes(p[0] for p in packed), bytes(p[1] for p in packed)


def spread(scale, signed):
    """256 values around `scale`; when signed, half of them are negative."""
    values = [scale * (0.75 + 0.5 * i / 127) for i in range(128)]
    return values + ([-value for value in values] if signed else values)


def place(blocks, stride, offset, indices, table):
    """Writes values of two bytes, chosen by index, at an offset of every block."""
    low, high = table
    blocks[offset::stride] = indices.translate(low)
    blocks[offset + 1 :: stride] = indices.translate(high)


def root_mean_square(values):
    return math.sqrt(statistics.fmean(value * value for value in values))


def q4_0(rms):
    table = tables("<e", spread(rms / root_mean_square(range(-8, 8)), signed=True))

    def draw(random, count):
        blocks = bytearray(random.bytes(18 * count))
        place(blocks, 18, 0, random.bytes(count), table)
        return blocks

    return draw


def q8_0(rms):
    table = tables("<e", spread(rms / root_mean_square(range(-127, 128)), signed=True))
    codes = bytes(0 if i == 128 else i for i in range(256))  # quantizers never write -128

    def draw(random, count):
        blocks = bytearray(random.bytes(34 * count).translate(codes))
        place(blocks, 34, 0, random.bytes(count), table)
        return blocks

    return draw


def q4_k(rms):
    # A weight is d * scale * code - dmin * minimum: with equal six-bit numbers for both and dmin = 7.5 d it is centred.
    scales = range(32, 64)
    d = spread(rms / root_mean_square(scales) / root_mean_square([i - 7.5 for i in range(16)]), signed=False)
    d_table, dmin_table = tables("<e", d), tables("<e", [7.5 * value for value in d])
    # Bytes 0 to 3 of the packed numbers hold scales 0 to 3 and the top bits of scales 4 to 7; bytes 4 to 7 the same for
    # the minimums; bytes 8 to 11 the low four bits of scales and minimums 4 to 7.
    six_bits = bytes(i | 0xA0 for i in range(256))
    twice_four_bits = bytes((i & 15) * 17 for i in range(256))

    def draw(random, count):
        blocks = bytearray(random.bytes(144 * count))
        indices = random.bytes(count)
        place(blocks, 144, 0, indices, d_table)
        place(blocks, 144, 2, indices, dmin_table)
        for i in range(4):
            blocks[4 + i :: 144] = blocks[8 + i :: 144] = random.bytes(count).translate(six_bits)
            blocks[12 + i :: 144] = random.bytes(count).translate(twice_four_bits)
        return blocks

    return draw


def q6_k(rms):
    scales = [*range(64, 128), *range(-127, -63)]
    d = rms / root_mean_square(scales) / root_mean_square(range(-32, 32))
    table = tables("<e", spread(d, signed=True))
    scale_bytes = bytes(scales[i % 128] & 255 for i in range(256))

    def draw(random, count):
        blocks = bytearray(random.bytes(210 * count))
        for i in range(16):
            blocks[192 + i :: 210] = random.bytes(count).translate(scale_bytes)
        place(blocks, 210, 208, random.bytes(count), table)
        return blocks

    return draw


def bf16(rms):
    normal = statistics.NormalDist(0, rms)
    upper_halves = [struct.pack("<f", normal.inv_cdf((i + 0.5) / 256))[2:] for i in range(256)]
    table = bytes(half[0] for half in upper_halves), bytes(half[1] for half in upper_halves)

    def draw(random, count):
        values = bytearray(2 * count)
        place(values, 2, 0, random.bytes(count), table)
        return values

    return draw


def gains(_):
    """Factors of a norm, around 1."""

    def draw(random, count):
        return struct.pack(f"<{count}f", *(0.75 + 0.5 * byte / 255 for byte in random.bytes(count)))

    return draw


DRAWS = {"Q4_0": q4_0, "Q8_0": q8_0, "Q4_K": q4_k, "Q6_K": q6_k, "BF16": bf16, "F32": gains}
