#!/usr/bin/env python3
"""Writes a GGUF model of the llama family with random weights, so that speed can be measured at the sizes people use.

usage: make_model.py [--shape SHAPE] [--type TYPE] [--vocabulary FILE] [--seed N] [--output FILE]

Shapes are those of Llama 3.2: `1b`, `3b`; `tiny` is for tests. Types: `q4_0`, `q8_0`, `bf16`, and `q4_k_m`, which mixes
Q4_K and Q6_K as llama.cpp's quantizer does. Embeddings are tied. The vocabulary, merges, pre-tokenizer and chat
template are copied from another GGUF file, by default the installed default model. What the model says is noise, but activations
and logits are of a trained model's size: weights are centred and their root mean square is 1 / sqrt(inputs).

The same arguments give the same bytes. Quantized blocks are drawn as such (random codes, scales of the right size), and
written piece by piece: memory stays small. The file appears under its name only whole.
"""

import argparse
import dataclasses
import math
import mmap
import os
import pathlib
import shutil
import signal
import struct
import sys
import tempfile

import fetch_model
import make_gguf_corpus as gguf
import random_blocks

PIECE_BYTES = 4 << 20
ALIGNMENT = 32
MOST_ENTRIES, MOST_DEPTH = 4096, 4  # of the vocabulary's file


@dataclasses.dataclass(frozen=True)
class Shape:
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    feed_forward: int


SHAPES = {
    "1b": Shape(hidden=2048, layers=16, heads=32, kv_heads=8, head_dim=64, feed_forward=8192),
    "3b": Shape(hidden=3072, layers=28, heads=24, kv_heads=8, head_dim=128, feed_forward=8192),
    "tiny": Shape(hidden=256, layers=2, heads=4, kv_heads=2, head_dim=64, feed_forward=512),
}
# name: (suffix of the file, llama.cpp's number for the mix)
MIXES = {"q4_0": ("Q4_0", 2), "q4_k_m": ("Q4_K_M", 15), "q8_0": ("Q8_0", 7), "bf16": ("BF16", 32)}


class MakeError(Exception):
    """What a person can act on, in one line."""


# ---- the vocabulary of another file


class Cursor:
    """Walks over a GGUF header; every step is checked against the end of the file."""

    def __init__(self, data, name):
        self._data, self._name, self.position = data, name, 0

    def skip(self, count):
        start = self.position
        if count > len(self._data) - start:
            raise MakeError(f"{self._name}: ends at byte {len(self._data)}, wanted {count} more at byte {start}")
        self.position += count
        return start

    def take(self, form):
        return struct.unpack_from(form, self._data, self.skip(struct.calcsize(form)))[0]

    def text(self):
        length = self.take("<Q")
        start = self.skip(length)
        return self._data[start : start + length]

    def skip_value(self, kind, depth=0):
        if kind == gguf.STRING:
            self.skip(self.take("<Q"))
        elif kind == gguf.ARRAY and depth < MOST_DEPTH:
            element, count = self.take("<I"), self.take("<Q")
            if element in gguf.FORMATS:
                self.skip(count * struct.calcsize(gguf.FORMATS[element]))
            else:
                for _ in range(count):
                    self.skip_value(element, depth + 1)
        elif kind in gguf.FORMATS:
            self.skip(struct.calcsize(gguf.FORMATS[kind]))
        else:
            raise MakeError(f"{self._name}: a value of type {kind} at byte {self.position}")


def vocabulary_entries(path):
    """The entries of a GGUF file whose keys begin with `tokenizer.`, as stored, and the number of tokens."""
    entries, tokens = [], 0
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            cursor = Cursor(data, path)
            if data[:4] != b"GGUF" or len(data) < 24:
                raise MakeError(f"{path}: not a GGUF file")
            cursor.skip(4)
            version, _, count = cursor.take("<I"), cursor.take("<Q"), cursor.take("<Q")
            if version not in (2, 3) or count > MOST_ENTRIES:
                raise MakeError(f"{path}: version {version} with {count} entries, wanted 2 or 3 with {MOST_ENTRIES}")
            for _ in range(count):
                start = cursor.position
                key, kind = cursor.text(), cursor.take("<I")
                value = cursor.position
                cursor.skip_value(kind)
                if key.startswith(b"tokenizer."):
                    entries.append(data[start : cursor.position])
                if key == b"tokenizer.ggml.tokens" and kind == gguf.ARRAY:
                    tokens = struct.unpack_from("<Q", data, value + 4)[0]
    except OSError as error:
        raise MakeError(f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise MakeError(f"{path}: not a GGUF file") from None  # nothing to map in an empty one
    if tokens == 0:
        raise MakeError(f"{path}: holds no vocabulary")
    return entries, tokens


# ---- the file


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    dims: tuple  # inputs first, as GGUF has them
    type: str

    @property
    def blocks(self):
        return math.prod(self.dims) // gguf.TENSOR_TYPES[self.type][1]

    @property
    def bytes(self):
        return self.blocks * gguf.TENSOR_TYPES[self.type][2]


def more_bits(layer, layers):
    """Whether llama.cpp's Q4_K_M gives a layer's value and down projections Q6_K: both ends, every third between."""
    eighth = layers // 8
    return layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2


def tensors_of(shape, mix, tokens):
    usual, embedding, better = {
        "q4_0": ("Q4_0", "Q6_K", "Q4_0"),
        "q4_k_m": ("Q4_K", "Q6_K", "Q6_K"),
        "q8_0": ("Q8_0", "Q8_0", "Q8_0"),
        "bf16": ("BF16", "BF16", "BF16"),
    }[mix]
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    tensors = [
        Tensor("token_embd.weight", (shape.hidden, tokens), embedding),
        Tensor("output_norm.weight", (shape.hidden,), "F32"),
    ]
    for layer in range(shape.layers):
        mixed = better if more_bits(layer, shape.layers) else usual
        tensors += [
            Tensor(f"blk.{layer}.{name}.weight", dims, type)
            for name, dims, type in (
                ("attn_norm", (shape.hidden,), "F32"),
                ("attn_q", (shape.hidden, queries), usual),
                ("attn_k", (shape.hidden, keys), usual),
                ("attn_v", (shape.hidden, keys), mixed),
                ("attn_output", (queries, shape.hidden), usual),
                ("ffn_norm", (shape.hidden,), "F32"),
                ("ffn_gate", (shape.hidden, shape.feed_forward), usual),
                ("ffn_up", (shape.hidden, shape.feed_forward), usual),
                ("ffn_down", (shape.feed_forward, shape.hidden), mixed),
            )
        ]
    return tensors


def header(shape, name, mix, vocabulary, tensors):
    entries = [
        gguf.entry(key, kind, value)
        for key, kind, value in (
            ("general.architecture", gguf.STRING, "llama"),
            ("general.name", gguf.STRING, name),
            ("general.file_type", gguf.UINT32, MIXES[mix][1]),
            ("general.quantization_version", gguf.UINT32, 2),
            ("llama.context_length", gguf.UINT32, 8192),
            ("llama.embedding_length", gguf.UINT32, shape.hidden),
            ("llama.block_count", gguf.UINT32, shape.layers),
            ("llama.feed_forward_length", gguf.UINT32, shape.feed_forward),
            ("llama.attention.head_count", gguf.UINT32, shape.heads),
            ("llama.attention.head_count_kv", gguf.UINT32, shape.kv_heads),
            ("llama.attention.key_length", gguf.UINT32, shape.head_dim),
            ("llama.attention.value_length", gguf.UINT32, shape.head_dim),
            ("llama.rope.dimension_count", gguf.UINT32, shape.head_dim),
            ("llama.rope.freq_base", gguf.FLOAT32, 500000.0),
            ("llama.attention.layer_norm_rms_epsilon", gguf.FLOAT32, 1e-5),
        )
    ]
    descriptors, offset = [], 0
    for tensor in tensors:
        descriptors.append(gguf.tensor(tensor.name, tensor.dims, gguf.TENSOR_TYPES[tensor.type][0], offset))
        offset += tensor.bytes + -tensor.bytes % ALIGNMENT
    return gguf.file([*entries, *vocabulary], descriptors, alignment=ALIGNMENT), offset


def tensor_pieces(tensor, seed):
    """The bytes of a tensor with its padding, a few megabytes at a time."""
    random = random_blocks.Randomness(seed, tensor.name)
    draw = random_blocks.DRAWS[tensor.type](1 / math.sqrt(tensor.dims[0]))
    step = max(1, PIECE_BYTES // gguf.TENSOR_TYPES[tensor.type][2])
    for first in range(0, tensor.blocks, step):
        yield draw(random, min(step, tensor.blocks - first))
    yield bytes(-tensor.bytes % ALIGNMENT)


def make(shape_name, mix, vocabulary_path, seed, output, stream=sys.stderr):
    """Writes the model to `output`. Raises MakeError."""
    shape = SHAPES[shape_name]
    vocabulary, tokens = vocabulary_entries(vocabulary_path)
    tensors = tensors_of(shape, mix, tokens)
    head, data_bytes = header(shape, f"random llama {shape_name}", mix, vocabulary, tensors)
    total = len(head) + data_bytes
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(output.parent).free
        if free < total:
            raise MakeError(f"{output.parent} has {free / 1e6:.0f} MB free, {total / 1e6:.0f} MB are needed")
        with tempfile.TemporaryDirectory(prefix=".make-", dir=output.parent) as name:
            folder = pathlib.Path(name)
            with fetch_model.Progress(f"writing {output.name}", total, folder, stream):
                with open(folder / "model", "wb") as file:
                    file.write(head)
                    for tensor in tensors:
                        for piece in tensor_pieces(tensor, seed):
                            file.write(piece)
            os.replace(folder / "model", output)
    except OSError as error:
        raise MakeError(f"{error.filename or output}: {error.strerror or error}") from None


def main(arguments, environment):
    models = fetch_model.cache_home(environment) / "models"
    default_vocabulary = models / fetch_model.SMOLLM2.file
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="1b", help="(default: %(default)s)")
    parser.add_argument("--type", choices=MIXES, default="q4_0", help="of the weights (default: %(default)s)")
    parser.add_argument(
        "--vocabulary", type=pathlib.Path, default=default_vocabulary, metavar="FILE",
        help="GGUF file to copy the vocabulary from (default: the installed default model)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument(
        "--output", type=pathlib.Path, metavar="FILE",
        help="(default: llama-SHAPE-random.TYPE.gguf in the folder of installed models)",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    output = options.output or models / f"llama-{options.shape}-random.{MIXES[options.type][0]}.gguf"
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that temporary files go in this case too
    try:
        if options.vocabulary == default_vocabulary and not default_vocabulary.exists():
            raise MakeError(f"{default_vocabulary} is not there: run tools/fetch_model.py, or name a --vocabulary")
        make(options.shape, options.type, options.vocabulary, options.seed, output)
    except MakeError as error:
        print(f"make_model: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("make_model: interrupted; nothing was kept", file=sys.stderr)
        return 130
    print(output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
