"""Tiny models of random weights, made without a network: a token is a byte, and one token ends a text."""

import pathlib
import subprocess
import sys

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import make_gguf_corpus as gguf  # noqa: E402


def byte_vocabulary(chat_template=None):
    """A byte-level vocabulary without merges: one token a byte, and one that ends a text."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    tokens = [chr(byte) for byte in printable] + [chr(256 + i) for i in range(len(others))] + ["<|im_end|>"]
    entries = (
        ("model", gguf.STRING, "gpt2"),
        ("pre", gguf.STRING, "smollm"),
        ("tokens", gguf.ARRAY, (gguf.STRING, tokens)),
        ("token_type", gguf.ARRAY, (gguf.INT32, [1] * 256 + [3])),
        ("merges", gguf.ARRAY, (gguf.STRING, [])),
        ("bos_token_id", gguf.UINT32, 256),
        ("eos_token_id", gguf.UINT32, 256),
    )
    items = [gguf.entry(f"tokenizer.ggml.{key}", kind, value) for key, kind, value in entries]
    if chat_template:
        items.append(gguf.entry("tokenizer.chat_template", gguf.STRING, chat_template))
    return gguf.file(items)


def write_vocabulary(folder, chat_template=None):
    path = pathlib.Path(folder) / "vocabulary.gguf"
    path.write_bytes(byte_vocabulary(chat_template))
    return path


def make_model(path, type, vocabulary):
    subprocess.run(
        [TOOLS / "make_model.py", "--shape", "tiny", "--type", type, "--output", path, "--vocabulary", vocabulary],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
