#!/usr/bin/env python3
"""Writes the hand-made inputs of the GGUF fuzz target: small good files, and each kind of fault on its own.

usage: make_gguf_corpus.py FOLDER          write the files
       make_gguf_corpus.py --check FOLDER  fail when one is missing or differs

Files that a fuzzer found lie in the same folder under names that start with "found_"; they are left alone.
"""

import pathlib
import struct
import sys

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64, INT64, FLOAT64 = range(13)
FORMATS = {
    UINT8: "<B", INT8: "<b", UINT16: "<H", INT16: "<h", UINT32: "<I", INT32: "<i", FLOAT32: "<f",
    BOOL: "<B", UINT64: "<Q", INT64: "<q", FLOAT64: "<d",
}  # fmt: skip
# name: (number, values of a block, bytes of a block)
TENSOR_TYPES = {
    "F32": (0, 1, 4), "F16": (1, 1, 2), "BF16": (30, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20),
    "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144), "Q6_K": (14, 256, 210), "Q5_K": (13, 256, 176),
}  # fmt: skip
HUGE = 2**64 - 1


def text(value):
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value_bytes(kind, value):
    """A value as stored; that of an array is (element kind, list)."""
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        element, values = value
        return struct.pack("<IQ", element, len(values)) + b"".join(value_bytes(element, v) for v in values)
    return struct.pack(FORMATS[kind], value)


def entry(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value_bytes(kind, value)


def tensor(name, dims, number, offset):
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, number, offset)


def file(entries=(), tensors=(), data=b"", version=3, alignment=32, counts=None):
    """The bytes of a file; `counts` replaces the numbers of tensors and entries in the header."""
    tensor_count, entry_count = counts or (len(tensors), len(entries))
    head = b"GGUF" + struct.pack("<IQQ", version, tensor_count, entry_count) + b"".join(entries) + b"".join(tensors)
    return head + b"\0" * (-len(head) % alignment) + data


def pseudo_bytes(count):
    """Some bytes of every value, the same on every run."""
    return bytes((i * 37 + i // 7) % 256 for i in range(count))


def llama_entries(**changes):
    values = {
        "general.architecture": (STRING, "llama"),
        "llama.context_length": (UINT32, 64),
        "llama.embedding_length": (UINT32, 32),
        "llama.block_count": (UINT32, 1),
        "llama.feed_forward_length": (UINT32, 64),
        "llama.attention.head_count": (UINT32, 4),
        "llama.attention.head_count_kv": (UINT32, 2),
        "llama.rope.dimension_count": (UINT32, 8),
        "llama.rope.freq_base": (FLOAT32, 10000.0),
        "llama.attention.layer_norm_rms_epsilon": (FLOAT32, 1e-5),
        "tokenizer.ggml.model": (STRING, "gpt2"),
        "tokenizer.ggml.pre": (STRING, "smollm"),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, ["a", "b", "ab", "<|im_end|>", b"\xff\n"])),
        "tokenizer.ggml.token_type": (ARRAY, (INT32, [1, 1, 1, 3, 6])),
        "tokenizer.ggml.scores": (ARRAY, (FLOAT32, [0.0, -1.0, -2.0, -3.0, -4.0])),
        "tokenizer.ggml.merges": (ARRAY, (STRING, ["a b"])),
        "tokenizer.ggml.bos_token_id": (UINT32, 3),
        "tokenizer.ggml.eos_token_id": (UINT32, 3),
        "tokenizer.ggml.add_bos_token": (BOOL, 0),
        "tokenizer.chat_template": (STRING, "{% for m in messages %}{{ m.content }}{% endfor %}"),
    }
    values.update({key.replace("__", "."): value for key, value in changes.items()})
    return [entry(key, *value) for key, value in values.items() if value is not None]


def good_files():
    yield "empty_v2", file(version=2)
    yield "empty_v3", file()
    yield "no_padding", file()[:24]
    scalars = [entry(f"v{kind}", kind, 1) for kind in FORMATS] + [entry("s", STRING, "text")]
    arrays = [entry(f"a{kind}", ARRAY, (kind, [0, 1])) for kind in FORMATS]
    nested = (ARRAY, [(ARRAY, [(STRING, ["x", ""]), (UINT8, [])]), (UINT16, [1, 2])])
    yield "every_value_type", file(scalars + arrays + [entry("nested", ARRAY, nested)])

    tensors, data = [], b""
    for name, (number, values, size) in TENSOR_TYPES.items():
        tensors.append(tensor(name, [values, 2], number, len(data)))
        data += pseudo_bytes(2 * size)
        data += b"\0" * (-len(data) % 32)
    tensors.append(tensor("unknown type", [3], 77, len(data)))
    data += b"\1\2\3"
    yield "every_tensor_type", file([], tensors, data)

    one = [tensor("w", [4, 2, 1, 1], 0, 64)]
    yield "alignment_64", file([entry("general.alignment", UINT32, 64)], one, bytes(96), alignment=64)
    yield "tiny_llama", file(llama_entries(), [tensor("token_embd.weight", [32, 5], 8, 0)], pseudo_bytes(170))


def broken_structure():
    good = dict(good_files())["tiny_llama"]
    yield "nothing", b""
    yield "magic_only", b"GGUF"
    yield "other_magic", b"GGML" + good[4:]
    yield "cut_in_metadata", good[:600]
    yield "cut_in_tensor_data", good[:-1]
    for version in (0, 1, 4, 0x03000000):
        yield f"version_{version}", file(version=version)
    for name, counts in {"tensors": (HUGE, 0), "entries": (0, HUGE), "both": (2**17, 2**16)}.items():
        yield f"count_of_{name}", file(counts=counts) + bytes(64)

    yield "empty_key", file([entry("", UINT32, 1)])
    yield "duplicate_key", file([entry("k\n", UINT32, 1), entry("k\n", BOOL, 1)])
    yield "value_type_13", file([text("k") + struct.pack("<II", 13, 0)])
    yield "bool_2", file([entry("b", BOOL, 2)])
    yield "string_too_long", file([text("k") + struct.pack("<IQ", STRING, HUGE)])
    yield "key_too_long", file([struct.pack("<Q", 2**63)])
    yield "array_count_overflows", file([text("k") + struct.pack("<IIQ", ARRAY, FLOAT64, 2**61 + 1)])
    yield "array_of_type_99", file([text("k") + struct.pack("<IIQ", ARRAY, 99, 1)])
    deep = (UINT8, [])
    for _ in range(20):
        deep = (ARRAY, [deep])
    yield "arrays_nest_too_deep", file([entry("k", ARRAY, deep)])
    for name, alignment in {"0": 0, "1": 1, "48": 48, "huge": 2**31}.items():
        yield f"alignment_{name}", file([entry("general.alignment", UINT32, alignment)])
    yield "alignment_is_text", file([entry("general.alignment", STRING, "32")])


def broken_tensors():
    def one(dims, number=0, offset=0, name="w", size=64):
        return file([], [tensor(name, dims, number, offset)], bytes(size))

    yield "tensor_without_axes", one([])
    yield "tensor_with_5_axes", one([1] * 5)
    yield "axis_0", one([4, 0])
    yield "axes_overflow", one([2**32, 2**32])
    yield "bytes_overflow", one([2**62])
    yield "row_not_whole_blocks", one([33], number=2)
    yield "tensor_without_name", one([4], name="")
    yield "tensor_name_too_long", one([4], name="n" * 256)
    yield "offset_not_aligned", one([4], offset=4)
    yield "offset_huge", one([4], offset=2**64 - 32)
    yield "offset_and_size_wrap", one([1040], offset=2**64 - 4096)
    yield "past_the_end", one([17])
    yield "unknown_type_past_the_end", one([4], number=1000, offset=64)
    pair = [tensor("a", [16], 0, 0), tensor("b", [16], 0, 32)]
    yield "overlap", file([], pair, bytes(128))
    yield "duplicate_tensor", file([], [tensor("a", [4], 0, 0), tensor("a", [4], 0, 32)], bytes(64))


def broken_models():
    def with_(**changes):
        return file(llama_entries(**changes))

    yield "tokens_are_bytes", with_(tokenizer__ggml__tokens=(ARRAY, (UINT8, [1, 2, 3])))
    yield "tokens_are_arrays", with_(tokenizer__ggml__tokens=(ARRAY, (ARRAY, [(UINT8, [1])])))
    yield "no_tokens", with_(tokenizer__ggml__tokens=(ARRAY, (STRING, [])))
    yield "kinds_are_too_few", with_(tokenizer__ggml__token_type=(ARRAY, (INT32, [1])))
    yield "kind_0", with_(tokenizer__ggml__token_type=(ARRAY, (INT32, [1, 1, 0, 1, 1])))
    yield "scores_are_bytes", with_(tokenizer__ggml__scores=(ARRAY, (UINT8, [0] * 5)))
    yield "id_outside", with_(tokenizer__ggml__eos_token_id=(UINT32, 5))
    yield "heads_0", with_(llama__attention__head_count=(UINT32, 0))
    yield "heads_are_a_list", with_(llama__attention__head_count=(ARRAY, (INT32, [4, 4])))
    yield "width_not_divisible", with_(llama__embedding_length=(UINT32, 33))
    yield "epsilon_nan", with_(llama__attention__layer_norm_rms_epsilon=(FLOAT32, float("nan")))
    yield "layers_huge", with_(llama__block_count=(UINT64, HUGE))
    yield "context_negative", with_(llama__context_length=(INT64, -1))
    yield "experts", with_(llama__expert_count=(UINT32, 8))


def corpus():
    files = {}
    for group in (good_files, broken_structure, broken_tensors, broken_models):
        for name, raw in group():
            assert name not in files, name
            files[name] = raw
    return files


def differences(folder, files):
    for name, raw in files.items():
        path = folder / name
        if not path.is_file():
            yield f"{path}: missing"
        elif path.read_bytes() != raw:
            yield f"{path}: differs from what this script writes"
    for path in folder.iterdir():
        if path.name not in files and not path.name.startswith("found_"):
            yield f"{path}: neither written by this script nor named found_"


def main(arguments):
    check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + check:
        sys.exit(__doc__)
    folder = pathlib.Path(arguments[-1])
    files = corpus()
    if check:
        problems = list(differences(folder, files))
        print("\n".join(problems) or f"{len(files)} files are as written")
        sys.exit(1 if problems else 0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, raw in files.items():
        (folder / name).write_bytes(raw)


if __name__ == "__main__":
    main(sys.argv[1:])
