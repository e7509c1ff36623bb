#!/usr/bin/env python3
"""The programs of docs/examples, built as an embedding program would be. HEARTH_EXAMPLES names their folder.

They run on a model that tools/make_model.py writes, and on the default model where it is.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

from made_model import TOOLS, byte_vocabulary
from program import MODEL

EXAMPLES = pathlib.Path(os.environ["HEARTH_EXAMPLES"])
TEMPLATE = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant: "


def run(name, *arguments):
    return subprocess.run(
        [EXAMPLES / f"example_{name}", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, timeout=300
    )


class Ask(unittest.TestCase):
    def test_a_made_model_answers_the_same_each_time(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "vocabulary.gguf").write_bytes(byte_vocabulary(TEMPLATE))
            model = folder / "made.gguf"
            subprocess.run(
                [TOOLS / "make_model.py", "--shape", "tiny", "--type", "q4_0", "--output", model]
                + ["--vocabulary", folder / "vocabulary.gguf"],
                check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            answers = [run("ask", model, "Hello") for _ in range(2)]
            for answer in answers:
                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertGreater(len(answer.stdout.decode()), 1)
            self.assertEqual(answers[0].stdout, answers[1].stdout)

    def test_what_goes_wrong_is_one_line(self):
        self.assertEqual(run("ask").returncode, 2)
        missing = run("ask", "no-such-model", "Hello")
        self.assertEqual(missing.returncode, 1)
        self.assertEqual(missing.stderr.count(b"\n"), 1)
        self.assertIn(b"no-such-model", missing.stderr)

    @unittest.skipUnless(MODEL.exists(), f"the default model is not at {MODEL}: `make test` fetches it")
    def test_the_default_model_knows_paris(self):
        answer = run("ask", "smollm2", "What is the capital of France?")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("Paris", answer.stdout.decode())


if __name__ == "__main__":
    unittest.main(verbosity=2)
