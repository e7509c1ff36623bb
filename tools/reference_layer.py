#!/usr/bin/env python3
"""The arithmetic of docs/numerics.md ("Reimplementing it", version 1) written a second time, slowly and plainly: the
logits of a GGUF model of the llama family, bit for bit those of hearth. Needs Python alone.

usage: reference_layer.py MODEL TOKENS [POSITIONS]    numbers with commas between; all positions when they are left out

Prints a line for each position: its number, then the bits of its logits (float32) in hexadecimal.
"""

import math
import struct
import sys

from reference_gguf import Gguf
from reference_numbers import add_tiles, bfloat16, cosine_and_sine, exp, fma, narrow, padded, power, tree
from reference_products import product

BLOCK, BLOCKS = 64, 8  # keys of a block, blocks of a segment


def norm(model, name, x):
    weight, epsilon = model.row(name, 0).values, model.entries["llama.attention.layer_norm_rms_epsilon"]
    lanes = [0.0] * 16
    for i, value in enumerate(x):
        lanes[i % 16] = narrow(lanes[i % 16] + narrow(value * value))
    mean = narrow(tree(lanes) / len(x))
    inverse = narrow(1.0 / narrow(math.sqrt(narrow(mean + epsilon))))
    return [narrow(narrow(value * inverse) * w) for value, w in zip(x, weight)]


def rotate(head, angles):
    out = list(head)
    for i, (c, s) in enumerate(angles):
        a, b = head[2 * i], head[2 * i + 1]
        out[2 * i] = narrow(narrow(a * c) - narrow(b * s))
        out[2 * i + 1] = narrow(narrow(a * s) + narrow(b * c))
    return padded([bfloat16(value) for value in out])


def attend(q, keys, values, scale):
    """One query over the keys and values that it sees."""
    whole = None
    for segment in range(0, len(keys), BLOCK * BLOCKS):
        most, lanes, acc = -math.inf, [0.0] * 16, [0.0] * len(q)
        for first in range(segment, min(segment + BLOCK * BLOCKS, len(keys)), BLOCK):
            scores = [narrow(scale * add_tiles(0.0, key, q)) for key in keys[first : first + BLOCK]]
            before, most = most, max(most, *scores)
            keep = 0.0 if before == -math.inf else exp(narrow(before - most))
            p = [bfloat16(exp(narrow(score - most))) for score in scores] + [0.0] * (BLOCK - len(scores))
            v = values[first : first + BLOCK] + [[0.0] * len(q)] * (BLOCK - len(scores))
            lanes = [narrow(lane * keep) for lane in lanes]
            for t in range(BLOCK):
                lanes[t % 16] = narrow(lanes[t % 16] + p[t])
            acc = [add_tiles(narrow(a * keep), column, p) for a, column in zip(acc, zip(*v))]
        part = most, tree(lanes), acc
        whole = part if whole is None else join(whole, part)
    return [narrow(narrow(a / whole[1]) + 0.0) for a in whole[2]]


def join(whole, part):
    most = max(whole[0], part[0])
    keep, take = exp(narrow(whole[0] - most)), exp(narrow(part[0] - most))
    total = narrow(narrow(whole[1] * keep) + narrow(part[1] * take))
    return most, total, [fma(b, take, narrow(a * keep)) for a, b in zip(whole[2], part[2])]


def swiglu(gates, ups):
    return [narrow(narrow(gate / narrow(1.0 + exp(-gate))) * up) for gate, up in zip(gates, ups)]


class Shape:
    def __init__(self, entries):
        number = {key.removeprefix("llama."): value for key, value in entries.items()}
        self.layers, self.heads = number["block_count"], number["attention.head_count"]
        self.kv_heads = number.get("attention.head_count_kv", self.heads)
        self.dims = number.get("attention.key_length", number["embedding_length"] // self.heads)
        self.rotated, self.base = number.get("rope.dimension_count", self.dims), number.get("rope.freq_base", 10000.0)
        self.scale = narrow(1.0 / narrow(math.sqrt(self.dims)))


def rotary_angles(model, shape, count):
    """(cosine, sine) of each pair at positions 0 .. count - 1."""
    has_divisors = "rope_freqs.weight" in model.tensors
    divisors = model.row("rope_freqs.weight", 0).values if has_divisors else [1.0] * (shape.rotated // 2)
    steps = [power(shape.base, -2.0 * i / shape.rotated) / divisors[i] for i in range(shape.rotated // 2)]
    return [[tuple(map(narrow, cosine_and_sine(t * step))) for step in steps] for t in range(count)]


def run_layer(model, shape, prefix, x, angles, wanted):
    """x {position: row}, all positions from 0, becomes what the layer makes of the wanted ones."""
    times = lambda name, row: product(model, f"{prefix}{name}.weight", row)
    heads = lambda row: [row[i : i + shape.dims] for i in range(0, len(row), shape.dims)]
    normed = {t: norm(model, prefix + "attn_norm.weight", row) for t, row in x.items()}
    keys = [[rotate(head, angles[t]) for head in heads(times("attn_k", row))] for t, row in normed.items()]
    values = [[rotate(head, []) for head in heads(times("attn_v", row))] for row in normed.values()]
    out = {}
    for t in wanted:
        attended = []
        for h, q in enumerate(heads(times("attn_q", normed[t]))):
            seen = [[row[h * shape.kv_heads // shape.heads] for row in cached[: t + 1]] for cached in (keys, values)]
            attended += attend(rotate(q, angles[t]), *seen, shape.scale)[: shape.dims]
        row = [narrow(a + b) for a, b in zip(x[t], times("attn_output", attended))]
        inner = norm(model, prefix + "ffn_norm.weight", row)
        down = times("ffn_down", swiglu(times("ffn_gate", inner), times("ffn_up", inner)))
        out[t] = [narrow(a + b) for a, b in zip(row, down)]
    return out


def logits(model, tokens, wanted):
    shape = Shape(model.entries)
    angles = rotary_angles(model, shape, len(tokens))
    x = {t: model.row("token_embd.weight", token).dequantized() for t, token in enumerate(tokens)}
    for layer in range(shape.layers):  # nothing reads what the last layer would make of other positions
        x = run_layer(model, shape, f"blk.{layer}.", x, angles, wanted if layer + 1 == shape.layers else list(x))
    output = "output.weight" if "output.weight" in model.tensors else "token_embd.weight"
    return {t: product(model, output, norm(model, "output_norm.weight", x[t])) for t in wanted}


def main(arguments):
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    tokens, *positions = [[int(number) for number in argument.split(",")] for argument in arguments[1:]]
    for t, row in logits(Gguf(arguments[0]), tokens, positions[0] if positions else range(len(tokens))).items():
        print(t, struct.pack(f">{len(row)}f", *row).hex(" ", 4))


if __name__ == "__main__":
    main(sys.argv[1:])
