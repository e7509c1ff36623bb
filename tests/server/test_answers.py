#!/usr/bin/env python3
"""Answers over HTTP are those of `hearth run`, whoever else is being answered. HEARTH_BINARY names the program."""

import concurrent.futures
import json
import struct
import threading
import unittest

from program import MODEL, run
from served import Server, real_model_missing, tiny_model

TOKENS = 24
NEIGHBOURS = 31
PROMPT = "What is the capital of France?"


def bits(values):
    """Of numbers that are printed in different lengths, the float32 that each stands for."""
    return [value if value is None else struct.pack("<f", value) for value in values]


class SameAsRun:
    """Of one model, by `model()`."""

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Server(cls.model(), "--batch", NEIGHBOURS + 1))
        flags = ["--json", "--threads", 2, "--max-tokens", TOKENS, "--logprobs", 3]
        result = run("run", *flags, cls.model(), PROMPT)
        assert result.returncode == 0, result.stderr
        cls.wanted = json.loads(result.stdout)
        raw = run("run", "--raw", *flags, cls.model(), PROMPT)
        assert raw.returncode == 0, raw.stderr
        cls.wanted_raw = json.loads(raw.stdout)

    def chat(self, stream):
        """(text, log probabilities, alternatives, finish reason)"""
        body = {
            "messages": [{"role": "user", "content": PROMPT}], "max_tokens": TOKENS, "temperature": 0,
            "logprobs": True, "top_logprobs": 3,
        }  # fmt: skip
        if stream:
            chunks = [chunk["choices"][0] for chunk in self.server.stream("/v1/chat/completions", body)]
            text = "".join(chunk["delta"].get("content") or "" for chunk in chunks)
            entries = [entry for chunk in chunks for entry in (chunk["logprobs"] or {}).get("content", [])]
            reason = chunks[-1]["finish_reason"]
        else:
            status, answer, _ = self.server.ask("/v1/chat/completions", body)
            assert status == 200, answer
            choice = answer["choices"][0]
            text, entries, reason = (
                choice["message"]["content"], choice["logprobs"]["content"], choice["finish_reason"],
            )  # fmt: skip
        alternatives = [[other["logprob"] for other in entry["top_logprobs"]] for entry in entries]
        return text, [entry["logprob"] for entry in entries], alternatives, reason

    def completion(self, stream):
        body = {"prompt": PROMPT, "max_tokens": TOKENS, "temperature": 0, "logprobs": 0}
        if stream:
            chunks = [chunk["choices"][0] for chunk in self.server.stream("/v1/completions", body)]
            text = "".join(chunk["text"] for chunk in chunks)
            values = [
                value for chunk in chunks if chunk["logprobs"] for value in chunk["logprobs"]["token_logprobs"]
            ]  # fmt: skip
            return text, values, chunks[-1]["finish_reason"]
        status, answer, _ = self.server.ask("/v1/completions", body)
        assert status == 200, answer
        choice = answer["choices"][0]
        return choice["text"], choice["logprobs"]["token_logprobs"], choice["finish_reason"]

    def check_both(self):
        for stream in (False, True):
            with self.subTest(stream=stream):
                text, values, alternatives, reason = self.chat(stream)
                steps = self.wanted["tokens"]
                self.assertEqual(text, self.wanted["text"])
                self.assertEqual(reason, self.wanted["finish_reason"])
                self.assertEqual(bits(values), bits(step["logprob"] for step in steps))
                wanted = [bits(other["logprob"] for other in step["top_logprobs"]) for step in steps]
                self.assertEqual(list(map(bits, alternatives)), wanted)
                text, values, reason = self.completion(stream)
                self.assertEqual(text, self.wanted_raw["text"])
                self.assertEqual(reason, self.wanted_raw["finish_reason"])
                self.assertEqual(bits(values), bits(step["logprob"] for step in self.wanted_raw["tokens"]))

    def test_alone(self):
        self.check_both()

    def test_with_neighbours(self):
        over = threading.Event()

        def neighbour(number):
            answers = 0
            while not over.is_set():
                body = {
                    "prompt": f"Neighbour {number} tells: " + "and then " * (number % 7), "max_tokens": 12,
                    "temperature": 1.5, "seed": number, "stream": number % 2 == 0,
                }  # fmt: skip
                if body["stream"]:
                    self.server.stream("/v1/completions", body)
                else:
                    status, answer, _ = self.server.ask("/v1/completions", body)
                    assert status == 200, answer
                answers += 1
            return answers

        with concurrent.futures.ThreadPoolExecutor(NEIGHBOURS) as pool:
            running = [pool.submit(neighbour, number) for number in range(NEIGHBOURS)]
            try:
                self.check_both()
            finally:
                over.set()
            for future in running:
                self.assertGreater(future.result(), 0)


class TinyModel(SameAsRun, unittest.TestCase):
    model = staticmethod(tiny_model)


@unittest.skipIf(real_model_missing(), real_model_missing())
class DefaultModel(SameAsRun, unittest.TestCase):
    @staticmethod
    def model():
        return MODEL

    def test_it_knows_the_answer(self):
        self.assertIn("Paris", self.chat(False)[0])


if __name__ == "__main__":
    unittest.main()
