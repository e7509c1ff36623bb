#!/usr/bin/env python3
"""The memory budget: what `hearth fit` says, and that `hearth run` lives by it under a hard limit. HEARTH_BINARY names it.

The models are made: two layers and a context of 8192 tokens of 64 KiB a page.
"""

import json
import pathlib
import resource
import subprocess
import tempfile
import unittest

from made_model import TOOLS, byte_vocabulary
from program import SANITIZED, assert_refused, run

MEGABYTE = 1_000_000
THREADS = 2
# A limit of RLIMIT_DATA counts all that a thread's stack may grow to, and a budget only what is touched.
STACKS = (THREADS + 1) * (8 << 20)  # the team, and the loop of the engine
MARGIN = STACKS + MEGABYTE


def limit_data(bytes):
    resource.setrlimit(resource.RLIMIT_DATA, (bytes, bytes))


class Budget(unittest.TestCase):
    refused = assert_refused

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        (folder / "vocabulary.gguf").write_bytes(byte_vocabulary())
        cls.model = folder / "tiny.gguf"
        subprocess.run(
            [TOOLS / "make_model.py", "--shape", "tiny", "--type", "q4_0", "--output", cls.model]
            + ["--vocabulary", folder / "vocabulary.gguf"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def fit(self, *arguments):
        result = run("fit", self.model, "--threads", THREADS, "--json", *arguments)
        facts = json.loads(result.stdout)
        self.assertEqual(result.returncode, 0 if facts["fits"] else 1, result.stderr)
        self.assertEqual(result.stderr, b"")
        return facts


class Fit(Budget):
    def test_the_parts_make_the_total(self):
        facts = self.fit("--ctx", 1000, "--batch", 3)
        parts = ("weight_bytes", "kv_bytes", "activation_bytes", "sampler_bytes", "reserve_bytes")
        self.assertEqual(sum(facts[part] for part in parts), facts["total_bytes"])
        self.assertTrue(facts["fits"])
        self.assertEqual(facts["kv_bytes"], 3 * 16 * facts["page_bytes"])
        self.assertGreater(facts["weight_bytes"], facts["mapped_bytes"])
        self.assertGreaterEqual(facts["rows_that_fit"], 3)

    def test_the_budget_decides_to_the_byte(self):
        total = self.fit("--ctx", 4096, "--batch", 2)["total_bytes"]
        enough = self.fit("--ctx", 4096, "--batch", 2, "--memory-budget", total)
        self.assertTrue(enough["fits"])
        self.assertEqual(enough["usable_bytes"], total)
        self.assertEqual(enough["rows_that_fit"], 2)
        short = self.fit("--ctx", 4096, "--batch", 2, "--memory-budget", total - 1)
        self.assertFalse(short["fits"])
        self.assertEqual(short["rows_that_fit"], 1)
        self.assertIn("MB", short["why_not"])

    def test_the_largest_context_fits_and_the_next_page_does_not(self):
        limit = self.fit("--ctx", 2048)["total_bytes"]
        largest = self.fit("--memory-budget", limit)
        self.assertFalse(largest["fits"])
        self.assertEqual(largest["context"], 8192)
        self.assertEqual(largest["largest_context"], 2048)

    def test_a_context_beyond_the_model(self):
        facts = self.fit("--ctx", 8193)
        self.assertFalse(facts["fits"])
        self.assertIn("8192", facts["why_not"])

    def test_the_table(self):
        result = run("fit", self.model)
        self.assertEqual(result.returncode, 0)
        text = result.stdout.decode()
        for part in ("weights", "cache", "activations", "reserve", "total", "usable", "fits", "largest context"):
            self.assertIn(part, text)
        result = run("fit", self.model, "--memory-budget", "10M")
        self.assertEqual(result.returncode, 1)
        self.assertIn("10 MB usable", result.stdout.decode())

    @unittest.skipIf(SANITIZED, "a sanitizer needs more address space than the limit")
    def test_limits_of_the_process_count(self):
        limit = 500 * MEGABYTE
        result = run("fit", self.model, "--threads", THREADS, "--json", preexec_fn=lambda: limit_data(limit))
        facts = json.loads(result.stdout)
        stacks = limit + facts["mapped_bytes"] - facts["usable_bytes"]
        self.assertGreater(stacks, 0)
        self.assertEqual(stacks % (THREADS + 1), 0)  # the team's and the engine's loop

    def test_wrong_sizes(self):
        for size in ("4X", "-1G", "", "0", "nan", "1e99"):
            self.refused(2, "fit", self.model, f"--memory-budget={size}", contains=["memory-budget"])
            self.refused(2, "run", self.model, "hi", f"--memory-budget={size}", contains=["memory-budget"])
        self.refused(2, "fit", self.model, "--ctx", "0", contains=["--ctx"])
        self.refused(2, "fit", self.model, "--batch", "0", contains=["--batch"])
        self.refused(1, "fit", "/no/such/file.gguf", contains=["/no/such/file.gguf"])


@unittest.skipIf(SANITIZED, "a sanitized program's memory is not the program's own")
class Limit(Budget):
    """Under RLIMIT_DATA of the budget and MARGIN. It counts what is written to, so a budget has room for what is mapped."""

    def limited(self, budget, prompt, *arguments):
        limit = budget + MARGIN
        command = ["run", "--raw", "--json", "--threads", THREADS, "--memory-budget", budget, *arguments]
        return run(
            *command, self.model, stdin=None, input=prompt.encode(),
            preexec_fn=lambda: limit_data(limit),
        )  # fmt: skip

    def budget_of(self, tokens):
        return self.fit("--ctx", tokens)["total_bytes"]

    def test_a_prompt_that_fills_the_pool(self):
        for tokens in (512, 8192):
            budget = self.budget_of(tokens)
            prompt = "abcdefgh" * (tokens // 8)
            result = self.limited(budget, prompt[: tokens - 8], "--max-tokens", "8")
            self.assertEqual(result.returncode, 0, result.stderr)
            answer = json.loads(result.stdout)
            self.assertEqual(len(answer["prompt_ids"]), tokens - 8)

    def test_an_answer_ends_where_the_pool_does(self):
        result = self.limited(self.budget_of(512), "a" * 500, "--max-tokens", "100", "--logit-bias", "256:-100")
        self.assertEqual(result.returncode, 0, result.stderr)
        answer = json.loads(result.stdout)
        self.assertEqual(answer["finish_reason"], "length")
        self.assertEqual(len(answer["tokens"]), 12)

    def test_a_request_that_can_never_fit_is_refused_with_both_numbers(self):
        budget = self.budget_of(512)
        for length in (512, 8000):
            result = self.limited(budget, "a" * length, "--max-tokens", "8")
            error = result.stderr.decode()
            self.assertEqual(result.returncode, 1, error)
            self.assertEqual(result.stdout, b"")
            self.assertEqual(error.count("\n"), 1, error)
            self.assertIn(f"{length} tokens", error)
            self.assertIn("context of 512 (memory for 8 pages of 64;", error)

    def test_a_model_that_can_never_fit_is_refused_with_both_numbers(self):
        result = self.limited(12 << 20, "hello")
        error = result.stderr.decode()
        self.assertEqual(result.returncode, 1, error)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertRegex(error, r"takes \d+ MB .* at most 12 MB")


if __name__ == "__main__":
    unittest.main()
