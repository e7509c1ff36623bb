#!/usr/bin/env python3
"""hearth's logits on every instruction set are those of tools/reference_layer.py, bit for bit. HEARTH_DUMP_LOGITS names
the program that prints hearth's."""

import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[3] / "tools"
sys.path.insert(0, str(TOOLS))
import make_gguf_corpus as gguf  # noqa: E402
import reference_numbers  # noqa: E402
from random_blocks import Randomness  # noqa: E402

# Where a block has its float16 factors, and what they are for weights of a root mean square near 1: all other bytes
# are random, so every code and every nested scale occurs.
FACTORS = {
    "Q4_0": {0: 0.22},
    "Q4_1": {0: 0.22, 2: -1.6},
    "Q8_0": {0: 0.0135},
    "Q4_K": {0: 0.003, 2: 0.022},
    "Q6_K": {208: 0.0007},
}


def uniform(random, count):
    """Numbers from 0 to 1 with 32 random bits."""
    return [value / 2**32 for value in struct.unpack(f"<{count}I", random.bytes(4 * count))]


def weights(random, kind, rows, columns):
    """A matrix whose values have about the root mean square 1 / sqrt(columns), as stored."""
    rms = columns**-0.5
    if kind not in FACTORS:
        values = [(u - 0.5) * 3.46 * rms for u in uniform(random, rows * columns)]
        return floats(kind, values)
    _, values, size = gguf.TENSOR_TYPES[kind]
    blocks = rows * columns // values
    raw = bytearray(random.bytes(blocks * size))
    for offset, factor in FACTORS[kind].items():
        for i, u in enumerate(uniform(random, blocks)):
            struct.pack_into("<e", raw, i * size + offset, factor * rms * (0.5 + u))
    return bytes(raw)


def floats(kind, values):
    if kind == "BF16":
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack(f"<{len(values)}{'e' if kind == 'F16' else 'f'}", *values)


class Model:
    """A GGUF file in the making."""

    def __init__(self, name, shape, types):
        self._random, self._types, self.data = Randomness(1, name), types, {}
        self.vocabulary, self.layers, self.hidden, self.heads, self.kv_heads, self.head_dim, self.inner = shape
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        self.entries = {
            "general__architecture": (gguf.STRING, "llama"),
            "llama__context_length": (gguf.UINT32, 1024),
            "llama__vocab_size": (gguf.UINT32, self.vocabulary),
            "llama__embedding_length": (gguf.UINT32, self.hidden),
            "llama__block_count": (gguf.UINT32, self.layers),
            "llama__feed_forward_length": (gguf.UINT32, self.inner),
            "llama__attention__head_count": (gguf.UINT32, self.heads),
            "llama__attention__head_count_kv": (gguf.UINT32, self.kv_heads),
            "llama__attention__key_length": (gguf.UINT32, self.head_dim),
            "llama__rope__dimension_count": (gguf.UINT32, self.head_dim),
        }
        self.matrix("token_embd", self.vocabulary, self.hidden)
        self.norm("output_norm")
        if "output" in types:
            self.matrix("output", self.vocabulary, self.hidden)
        for layer in range(self.layers):
            prefix = f"blk.{layer}."
            self.norm(prefix + "attn_norm")
            self.norm(prefix + "ffn_norm")
            self.matrix(prefix + "attn_q", queries, self.hidden)
            self.matrix(prefix + "attn_k", keys, self.hidden)
            self.matrix(prefix + "attn_v", keys, self.hidden)
            self.matrix(prefix + "attn_output", self.hidden, queries)
            self.matrix(prefix + "ffn_gate", self.inner, self.hidden)
            self.matrix(prefix + "ffn_up", self.inner, self.hidden)
            self.matrix(prefix + "ffn_down", self.hidden, self.inner)

    def matrix(self, name, rows, columns):
        kind = self._types[name.split(".")[-1]]
        self.put(name, kind, [columns, rows], weights(self._random, kind, rows, columns))

    def norm(self, name):
        self.put(name, "F32", [self.hidden], floats("F32", [0.5 + u for u in uniform(self._random, self.hidden)]))

    def put(self, name, kind, dims, raw):
        self.data[name + ".weight"] = kind, dims, raw

    def scale(self, name, factor):
        """Multiplies the values of a float32 matrix of layer 0 by factor(row, column)."""
        name = f"blk.0.{name}.weight"
        kind, dims, raw = self.data[name]
        values = struct.unpack(f"<{len(raw) // 4}f", raw)
        scaled = [value * factor(*divmod(i, dims[0])) for i, value in enumerate(values)]
        self.data[name] = kind, dims, floats(kind, scaled)

    def tokens(self, count):
        return [int(u * self.vocabulary) for u in uniform(self._random, count)]

    def write(self, path):
        tensors, data = [], b""
        for name, (kind, dims, raw) in self.data.items():
            tensors.append(gguf.tensor(name, dims, gguf.TENSOR_TYPES[kind][0], len(data)))
            data += raw + b"\0" * (-len(raw) % 32)
        path.write_bytes(gguf.file(gguf.llama_entries(**self.entries), tensors, data))


class Rounding(unittest.TestCase):
    """What random numbers hardly ever meet."""

    def test_a_sum_just_below_the_middle_of_two_float32_numbers_rounds_down(self):
        a, b = (1 + 2.0**-23) * 2.0**-12, (1 - 2.0**-23) * 2.0**-12
        self.assertEqual(reference_numbers.fma(a, b, 1 + 2.0**-23), 1 + 2.0**-23)
        self.assertEqual(reference_numbers.fma(-a, -b, 1.0), 1.0)

    def test_results_that_round_to_the_least_normal_number_are_kept_and_smaller_ones_are_zero(self):
        least = 2.0**-126
        for missing, expected in ((2.0**-24, 0.0), (2.0**-25 * (1 + 2.0**-20), 0.0), (2.0**-25, least)):
            self.assertEqual(reference_numbers.fma(-missing, least, least), expected)
        zero = reference_numbers.fma(2.0**-24, least, -least)
        self.assertEqual((zero, math.copysign(1, zero)), (0.0, -1.0))


class ReferenceLayer(unittest.TestCase):
    def check(self, model, tokens, positions):
        tokens, wanted = (",".join(map(str, numbers)) for numbers in (tokens, positions))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.gguf"
            model.write(path)
            arguments = [path, tokens, wanted]
            dumped = self.run_(os.environ["HEARTH_DUMP_LOGITS"], *arguments)
            expected = self.run_(sys.executable, TOOLS / "reference_layer.py", *arguments)
        expected = [line.split() for line in expected]
        self.assertEqual([int(line[0]) for line in expected], list(positions))
        self.assertEqual({len(line) for line in expected}, {model.vocabulary + 1})
        got = {}
        for line in dumped:
            isa, *rest = line.split()
            got.setdefault(isa, []).append(rest)
        self.assertIn("portable", got)
        for isa, lines in got.items():
            with self.subTest(isa):
                self.compare(lines, expected)
        for position, *row in expected:  # logits all alike, or NaN, would prove nothing
            values = [struct.unpack(">f", bytes.fromhex(bits))[0] for bits in row]
            self.assertLess(max(map(abs, values)), 1e3)
            self.assertGreater(max(values) - min(values), 0.5, position)

    def run_(self, *command):
        result = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.splitlines()

    def compare(self, got, expected):
        self.assertEqual(len(got), len(expected))
        for got_row, row in zip(got, expected):
            differing = [i for i, pair in enumerate(zip(got_row, row)) if pair[0] != pair[1]]
            if differing or len(got_row) != len(row):
                i = differing[0] if differing else len(row)
                self.fail(
                    f"position {row[0]}: {len(differing)} of {len(row) - 1} logits differ, the first is {i - 1}: "
                    f"hearth has {got_row[i]}, the reference {row[i]}"
                )

    def test_groups_of_float16_scales_a_short_last_segment_and_attention_over_two_segments(self):
        types = dict(token_embd="Q4_1", attn_q="Q4_0", attn_k="Q4_1", attn_v="Q8_0", attn_output="BF16")
        types |= dict(ffn_gate="Q8_0", ffn_up="Q4_0", ffn_down="Q4_1", output="F32")
        model = Model("groups", (261, 1, 288, 2, 1, 16, 320), types)
        model.entries["llama__rope__dimension_count"] = (gguf.UINT32, 12)
        self.check(model, model.tokens(581), [0, 1, 63, 64, 511, 512, 580])

    def test_nested_scales_and_two_layers(self):
        types = dict(token_embd="Q4_K", attn_q="Q4_K", attn_k="Q4_K", attn_v="Q6_K", attn_output="Q4_K")
        types |= dict(ffn_gate="Q6_K", ffn_up="Q4_K", ffn_down="Q6_K", output="Q6_K")
        model = Model("nested", (67, 2, 512, 4, 1, 64, 512), types)
        model.entries["llama__rope__freq_base"] = (gguf.FLOAT32, 500000.0)
        model.put("rope_freqs", "F32", [32], floats("F32", [1 + i % 8 for i in range(32)]))
        self.check(model, model.tokens(5), range(5))

    def test_every_type_as_a_tied_embedding(self):
        for kind in ("Q4_0", "Q8_0", "Q6_K", "BF16"):
            with self.subTest(kind):
                names = "attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down"
                types = dict.fromkeys(names.split(), "F16") | {"token_embd": kind}
                model = Model(kind, (50, 1, 256, 2, 1, 32, 64), types)
                self.check(model, model.tokens(3), range(3))

    def test_float_matrices_with_a_short_last_block_and_numbers_at_the_border_of_zero(self):
        types = dict(token_embd="F16", attn_q="F32", attn_k="F32", attn_v="F32", attn_output="F32")
        types |= dict(ffn_gate="BF16", ffn_up="F16", ffn_down="F32")
        model = Model("floats", (70, 1, 80, 2, 2, 16, 112), types)
        # Some keys and values are made as small as float32 can hold, partly by small weights and partly by small inputs,
        # and their readers put that right again. A pair of keys is rotated, so it has one factor.
        model.scale("attn_norm", lambda row, column: 2.0**-4)
        model.scale("attn_k", lambda row, column: 2.0 ** -(row // 2 * 8))
        model.scale("attn_q", lambda row, column: 2.0 ** (row // 2 * 8 + 8))
        model.scale("attn_v", lambda row, column: 2.0 ** -(row * 15 // 4))
        model.scale("attn_output", lambda row, column: 2.0 ** (column * 15 // 4 + 4))
        self.check(model, model.tokens(70), [0, 1, 2, 3, 31, 64, 69])


if __name__ == "__main__":
    unittest.main()
