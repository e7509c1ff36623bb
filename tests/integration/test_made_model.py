#!/usr/bin/env python3
"""The program on models that tools/make_model.py writes, one of each type. HEARTH_BINARY names it."""

import json
import math
import pathlib
import tempfile
import unittest

from made_model import make_model, write_vocabulary
from program import run


class MadeModels(unittest.TestCase):
    def test_every_type_loads_and_its_logits_are_finite_and_level(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            vocabulary = write_vocabulary(folder)
            for type, held in (
                ("q4_0", {"F32", "Q4_0", "Q6_K"}),
                ("q4_k_m", {"F32", "Q4_K", "Q6_K"}),
                ("q8_0", {"F32", "Q8_0"}),
                ("bf16", {"F32", "BF16"}),
            ):
                with self.subTest(type):
                    model = folder / f"{type}.gguf"
                    make_model(model, type, vocabulary)
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
