#!/usr/bin/env python3
"""The program on models that tools/make_model.py writes, one of each type. HEARTH_BINARY names it."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

from program import run

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


class MadeModels(unittest.TestCase):
    def test_every_type_loads_and_its_logits_are_finite_and_level(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "vocabulary.gguf").write_bytes(byte_vocabulary())
            for type, held in (
                ("q4_0", {"F32", "Q4_0", "Q6_K"}),
                ("q4_k_m", {"F32", "Q4_K", "Q6_K"}),
                ("q8_0", {"F32", "Q8_0"}),
                ("bf16", {"F32", "BF16"}),
            ):
                with self.subTest(type):
                    model = folder / f"{type}.gguf"
                    subprocess.run(
                        [TOOLS / "make_model.py", "--shape", "tiny", "--type", type, "--output", model]
                        + ["--vocabulary", folder / "vocabulary.gguf"],
                        check=True, stdout=subprocess.DEVNULL,
                    )  # fmt: skip
                    facts = json.loads(run("info", model, "--json").stdout)
                    self.assertEqual((facts["shape"]["layers"], facts["shape"]["vocabulary"]), (2, 257))
                    self.assertEqual(set(facts["tensors"]), held)
                    result = run("run", "--raw", "--json", "--logprobs", "20", "--max-tokens", "4", model, "ab c")
                    self.assertEqual(result.returncode, 0, result.stderr)
                    answer = json.loads(result.stdout)
                    self.check_logprobs(answer)

    def check_logprobs(self, answer):
        """Logits of a standard deviation near one: the best of 257 is a few nats above the mean of -log(257)."""
        steps = answer["tokens"]
        self.assertGreater(len(steps), 0)
        for step in steps:
            best = [entry["logprob"] for entry in step["top_logprobs"]]
            self.assertTrue(all(math.isfinite(value) for value in best))
            self.assertLess(best[0], -0.5)
            self.assertGreater(best[0], -math.log(257) + 1)
            self.assertLess(best[-1], best[0])


if __name__ == "__main__":
    unittest.main()
