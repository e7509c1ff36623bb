"""GGUF files for reference_layer.py: metadata, and rows of matrices as codes, scales and minima. Trusts its input."""

import collections
import pathlib
import struct

from reference_numbers import narrow

# name: (GGUF's number, values of a block, bytes of a block)
TYPES = {
    "F32": (0, 1, 4), "F16": (1, 1, 2), "BF16": (30, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20),
    "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144), "Q6_K": (14, 256, 210),
}  # fmt: skip
NAMES = {number: name for name, (number, _, _) in TYPES.items()}


class Row(collections.namedtuple("Row", "codes scales minima d values", defaults=[None] * 5)):
    """One row of a matrix.

    codes: integers, the zero taken off; scales: of each group; minima: of each group, or None. Groups are of 32 inputs,
    scales and minima float32. Q6_K has groups of 16 with integer scales, and d, a float32 for each 256 inputs. Rows of
    float types have values only.
    """

    def dequantized(self):
        if self.values:
            return self.values
        group = 16 if self.d else 32
        scales = [narrow(self.d[i // 16] * scale) for i, scale in enumerate(self.scales)] if self.d else self.scales
        values = [narrow(scales[i // group] * code) for i, code in enumerate(self.codes)]
        return [narrow(v + self.minima[i // group]) for i, v in enumerate(values)] if self.minima else values


class Gguf:
    def __init__(self, path):
        self._data, self._at, self._rows = pathlib.Path(path).read_bytes(), 8, {}
        tensors, entries = self._take("<Q"), self._take("<Q")
        self.entries, self.tensors = {}, {}
        for _ in range(entries):
            key = self._value(8)
            self.entries[key] = self._value(self._take("<I"))
        for _ in range(tensors):
            name = self._value(8)
            dims = [self._take("<Q") for _ in range(self._take("<I"))]
            self.tensors[name] = dims, NAMES[self._take("<I")], self._take("<Q")
        alignment = self.entries.get("general.alignment", 32)
        self._start = (self._at + alignment - 1) // alignment * alignment

    def row(self, name, index):
        """Row `index` of a matrix; a vector is row 0."""
        if (name, index) not in self._rows:
            dims, kind, offset = self.tensors[name]
            _, values, size = TYPES[kind]
            first = self._start + offset + index * dims[0] // values * size
            blocks = [self._data[i : i + size] for i in range(first, first + dims[0] // values * size, size)]
            self._rows[name, index] = read_row(kind, blocks)
        return self._rows[name, index]

    def _take(self, form):
        self._at += struct.calcsize(form)
        return struct.unpack_from(form, self._data, self._at - struct.calcsize(form))[0]

    def _value(self, kind):
        if kind == 8:
            return self._take(f"<{self._take('<Q')}s").decode(errors="replace")
        if kind == 9:
            element, count = self._take("<I"), self._take("<Q")
            return [self._value(element) for _ in range(count)]
        return self._take("<" + "BbHhIif?..Qqd"[kind])


def read_row(kind, blocks):
    read = READERS[kind]
    if kind in ("F32", "F16", "BF16"):
        return Row(values=[narrow(read(block)) for block in blocks])
    columns = zip(*map(read, blocks))
    return Row(*(None if parts[0] is None else [item for part in parts for item in part] for parts in columns))


def f32(raw):
    return struct.unpack("<f", raw)[0]


def half(raw):
    return struct.unpack("<e", raw[:2])[0]


def nibbles(raw):
    return [byte & 15 for byte in raw] + [byte >> 4 for byte in raw]


def q4_0(raw):
    return [nibble - 8 for nibble in nibbles(raw[2:])], [half(raw)], None, None


def q4_1(raw):
    return nibbles(raw[4:]), [half(raw)], [half(raw[2:])], None


def q8_0(raw):
    return struct.unpack("<32b", raw[2:]), [half(raw)], None, None


def q4_k(raw):
    low, middle, high = raw[4:8], raw[8:12], raw[12:16]
    scales = [b & 63 for b in low] + [h & 15 | b >> 6 << 4 for h, b in zip(high, low)]
    minima = [b & 63 for b in middle] + [h >> 4 | b >> 6 << 4 for h, b in zip(high, middle)]
    codes = sum((nibbles(raw[i : i + 32]) for i in range(16, 144, 32)), [])
    d, dmin = half(raw), half(raw[2:])
    return codes, [narrow(d * scale) for scale in scales], [-narrow(dmin * minimum) for minimum in minima], None


def q6_k(raw):
    low = nibbles(raw[:64]) + nibbles(raw[64:128])
    high = [raw[128 + i // 128 * 32 + i % 32] >> (i % 128 // 32 * 2) & 3 for i in range(256)]
    codes = [(l | h << 4) - 32 for l, h in zip(low, high)]
    return codes, struct.unpack("<16b", raw[192:208]), None, [half(raw[208:])]


READERS = {
    "F32": f32, "F16": half, "BF16": lambda raw: f32(b"\0\0" + raw),
    "Q4_0": q4_0, "Q4_1": q4_1, "Q8_0": q8_0, "Q4_K": q4_k, "Q6_K": q6_k,
}  # fmt: skip
