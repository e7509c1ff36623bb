#!/usr/bin/env python3
"""The program with the default model: answers, pipes, a terminal, JSON. HEARTH_BINARY names it.

Without the model it exits with code 77, which counts as skipped.
"""

import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from program import BINARY, MODEL, SANITIZED, assert_refused, run


ISA_NAMES = "portable, avx2, avx512, avx512-vnni, amx"


class Refusals(unittest.TestCase):
    refused = assert_refused

    def test_a_cut_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cut.gguf"
            with MODEL.open("rb") as whole:
                path.write_bytes(whole.read(1 << 20))
            self.refused(1, "run", path, "hello", contains=["cut.gguf"])

    def test_wrong_settings_for_a_good_model(self):
        self.refused(2, "run", "smollm2", "hi", "--isa", "mmx", contains=["mmx", ISA_NAMES])
        self.refused(2, "run", "smollm2", "hi", environment={"HEARTH_ISA": "sse9"}, contains=["sse9", ISA_NAMES])
        self.refused(2, "run", "smollm2", "hi", "--numerics", "f8", contains=["f8"])
        self.refused(2, "bench", "smollm2", "--rows", "1024", "--prompt", "8000", "--gen", "1", contains=["MB"])
        self.refused(2, "bench", "smollm2", "--prompt", "9000", contains=["8192"])
        self.refused(2, "run", "smollm2", "", contains=["empty"])
        self.refused(1, "run", "smollm2", "word " * 9000, contains=["8192"])
        self.refused(2, "run", "smollm2", stdin=subprocess.DEVNULL, contains=["empty"])


class Bench(unittest.TestCase):
    def test_rows_and_sessions(self):
        result = run(
            "bench", "smollm2", "--json", "--rows", "2", "--sessions", "2,3", "--prompt", 24, "--gen", 6, "--repeat", 2
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        facts = json.loads(result.stdout)
        self.assertEqual([entry["rows"] for entry in facts["runs"]], [2])
        self.assertEqual([entry["sessions"] for entry in facts["sessions"]], [2, 3])
        for run_ in [*facts["runs"], *facts["sessions"]]:
            self.assertGreater(run_["generated_tokens_per_second"]["min"], 0)
        two, three = facts["sessions"]
        whole = facts["runs"][0]["generated_tokens_per_second"]["median"]
        self.assertAlmostEqual(two["share_of_rows"], two["generated_tokens_per_second"]["median"] / whole)
        self.assertNotIn("share_of_rows", three)

    def test_sessions_are_counted_from_one(self):
        assert_refused(self, 2, "bench", "smollm2", "--sessions", "0", contains=["--sessions"])


class Facts(unittest.TestCase):
    def test_info(self):
        text = run("info", "smollm2").stdout.decode()
        self.assertIn("llama", text)
        facts = json.loads(run("info", "smollm2", "--json").stdout)
        self.assertEqual(facts["shape"]["layers"], 30)
        self.assertEqual(facts["parameters"], 134515008)
        self.assertEqual(facts["tensors"]["Q4_1"]["tensors"], 210)

    def test_tokenize(self):
        facts = json.loads(run("tokenize", "smollm2", "Hello world", "--json").stdout)
        self.assertEqual(facts["ids"], [19556, 905])
        self.assertEqual("".join(token["text"] for token in facts["tokens"]), "Hello world")
        plain = json.loads(run("tokenize", "smollm2", "<|im_end|>", "--json").stdout)
        special = json.loads(run("tokenize", "smollm2", "<|im_end|>", "--special", "--json").stdout)
        self.assertEqual(special["ids"], [2])
        self.assertGreater(len(plain["ids"]), 1)
        piped = run("tokenize", "smollm2", "--json", stdin=None, input=b"Hello world")
        self.assertEqual(json.loads(piped.stdout)["ids"], facts["ids"])


@unittest.skipIf(SANITIZED, "a sanitized program's memory is not the program's own")
class Memory(unittest.TestCase):
    def peak_of(self, *arguments):
        """The largest resident size of a run, in bytes; file pages count."""
        with subprocess.Popen(
            [BINARY, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            errors = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, errors)
        return usage.ru_maxrss * 1024

    def test_loading_does_not_hold_the_file_and_the_packed_weights_at_once(self):
        # At most 1.3 times the file and 100 MB are allowed; a model this small would fit twice, so half of the 100 here.
        bound = 1.3 * MODEL.stat().st_size + 50e6
        for threads in ("1", "2"):
            self.assertLess(self.peak_of("run", "smollm2", "Hi", "--max-tokens", "1", "--threads", threads), bound)

    def test_fit_foretells_the_peak(self):
        fit = json.loads(run("fit", "smollm2", "--ctx", 2048, "--threads", 2, "--json").stdout)
        flags = ["--max-tokens", "40", "--threads", "2", "--temperature", "1", "--top-p", "0.9"]
        peak = self.peak_of("run", "smollm2", "--raw", "word " * 2000, *flags, "--presence-penalty", "0.1")
        self.assertLess(peak, fit["total_bytes"])
        self.assertGreater(peak, 0.7 * fit["total_bytes"])


class Answers(unittest.TestCase):
    def test_paris(self):
        result = run("run", "smollm2", "What is the capital of France?")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, b"")
        self.assertIn("Paris", result.stdout.decode())

    def test_a_pipe_is_the_prompt(self):
        given = run("run", "smollm2", "Name a colour.")
        piped = run("run", "smollm2", stdin=None, input=b"Name a colour.")
        self.assertEqual(piped.returncode, 0, piped.stderr)
        self.assertEqual(piped.stdout, given.stdout)
        echoed = run("run", "smollm2", stdin=None, input=b"Name a colour.\n")
        self.assertEqual(echoed.stdout, given.stdout)

    def test_a_folder_does_not_hide_an_installed_model(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "smollm2"))
            self.assertEqual(run("info", "smollm2", cwd=folder).returncode, 0)

    def test_json(self):
        answer = json.loads(
            run("run", "smollm2", "Name a colour.", "--json", "--max-tokens", 5, "--logprobs", 3).stdout
        )
        self.assertEqual(answer["timings"]["generated_tokens"], 5)
        self.assertEqual(answer["finish_reason"], "length")
        self.assertEqual(len(answer["tokens"]), 5)
        for token in answer["tokens"]:
            self.assertLessEqual(token["logprob"], 0)
            self.assertEqual(len(token["top_logprobs"]), 3)
            # Greedy: the chosen token is the most probable one.
            self.assertEqual(token["top_logprobs"][0]["id"], token["id"])
        timings = answer["timings"]
        self.assertGreater(timings["decode_tokens_per_second"], 0)
        self.assertGreaterEqual(
            timings["load_to_first_token_seconds"], timings["load_seconds"] + timings["prefill_seconds"]
        )

    def test_logit_biases_may_be_several(self):
        flags = ["run", "smollm2", "Name a colour.", "--json", "--max-tokens", 1]
        first = json.loads(run(*flags).stdout)["tokens"][0]["id"]
        barred = run(*flags, "--logit-bias", f"{first}:-100", "--logit-bias", "0:-100")
        self.assertNotEqual(json.loads(barred.stdout)["tokens"][0]["id"], first)
        forced = run(*flags, "--logit-bias", "504:1000", "--logit-bias", f"{first}:-100")
        self.assertEqual(json.loads(forced.stdout)["tokens"][0]["id"], 504)

    def test_max_tokens_is_exact(self):
        for count in (1, 2, 7):
            answer = json.loads(run("run", "smollm2", "Count to one hundred.", "--json", "--max-tokens", count).stdout)
            self.assertEqual(len(answer["tokens"]), count)

    def test_the_same_seed_gives_the_same_text_and_none_a_fresh_one(self):
        flags = ["run", "smollm2", "Tell a story.", "--json", "--temperature", 1, "--max-tokens", 24]
        first, second = (json.loads(run(*flags, "--seed", 7).stdout) for _ in range(2))
        self.assertEqual(first["text"], second["text"])
        self.assertEqual(first["seed"], 7)
        free = [json.loads(run(*flags).stdout) for _ in range(2)]
        self.assertNotEqual(free[0]["seed"], free[1]["seed"])
        self.assertNotEqual(free[0]["text"], free[1]["text"])

    def test_settings_that_must_not_change_the_answer(self):
        flags = ["run", "smollm2", "Tell a story about a whale and a lamp.", "--json", "--max-tokens", 12]
        answers = [
            json.loads(run(*flags, *extra).stdout)["tokens"]
            for extra in ([], ["--threads", 1], ["--prefill-chunk", 1], ["--prefill-chunk", 7])
        ]
        for answer in answers[1:]:
            self.assertEqual(answer, answers[0])

    def test_every_instruction_set_gives_the_same_answer(self):
        flags = ["run", "smollm2", "Whales", "--raw", "--json", "--max-tokens", 8]
        attained = re.search(r"\((.*);", run("--version").stdout.decode()).group(1).split(", ")
        self.assertTrue(ISA_NAMES.startswith(", ".join(attained)), attained)
        best = json.loads(run(*flags).stdout)
        self.assertEqual(best["isa"], attained[-1])
        for isa in attained:
            # The option wins over the variable.
            answer = json.loads(run(*flags, "--isa", isa, environment={"HEARTH_ISA": attained[0]}).stdout)
            self.assertEqual(answer["isa"], isa)
            self.assertEqual(answer["tokens"], best["tokens"])
        forced = json.loads(run(*flags, environment={"HEARTH_ISA": attained[-2:][0]}).stdout)
        self.assertEqual(forced["isa"], attained[-2:][0])
        for isa in ISA_NAMES.split(", ")[len(attained):]:
            self.refused(1, *flags, "--isa", isa, contains=[isa, attained[-1]])

    def test_raw_and_system(self):
        raw = run("run", "smollm2", "The capital of France is", "--raw", "--max-tokens", 8).stdout.decode()
        self.assertIn("Paris", raw)
        told = run("run", "smollm2", "Hello", "--system", "You are a pirate.", "--json", "--max-tokens", 1)
        plain = run("run", "smollm2", "Hello", "--json", "--max-tokens", 1)
        self.assertNotEqual(json.loads(told.stdout)["prompt_ids"], json.loads(plain.stdout)["prompt_ids"])

    def test_a_reader_that_leaves_ends_the_program(self):
        with subprocess.Popen(
            [BINARY, "run", "smollm2", "Count to one thousand.", "--max-tokens", "4000"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:
            process.stdout.read(1)
            process.stdout.close()
            process.wait(timeout=60)
            self.assertNotEqual(process.returncode, 0)

    def test_lost_output_is_a_failure(self):
        for command in (["run", "smollm2", "Hi"], ["tokenize", "smollm2", "Hi"], ["info", "smollm2"]):
            with open("/dev/full", "w") as full:
                result = subprocess.run(
                    [BINARY, *command], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, timeout=120
                )
            self.assertEqual(result.returncode, 1, command)
            self.assertIn(b"standard output", result.stderr)

    def test_standard_input_that_cannot_be_read_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            descriptor = os.open(folder, os.O_RDONLY)
            result = run("run", "smollm2", stdin=descriptor)
            os.close(descriptor)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"standard input", result.stderr)

    def test_ctrl_c_stops_a_single_answer(self):
        with subprocess.Popen(
            [BINARY, "run", "smollm2", "Count to one thousand.", "--max-tokens", "4000"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:
            first = process.stdout.read(1)
            process.send_signal(signal.SIGINT)
            rest, error = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, error)
            self.assertTrue((first + rest).endswith(b"\n"))


class Terminal(unittest.TestCase):
    """A chat in a pseudo-terminal."""

    def setUp(self):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execv(BINARY, [BINARY, "run", "smollm2", "--max-tokens", "400", "--stats"])
        self.seen = b""

    def tearDown(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.terminal)

    def read_until(self, wanted, seconds=120):
        end = time.monotonic() + seconds
        start = len(self.seen)
        while wanted not in self.seen[start:]:
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                self.fail(f"no {wanted!r} in {self.seen!r}")
            try:
                data = os.read(self.terminal, 65536)
            except OSError:
                data = b""
            if not data:
                self.fail(f"the program ended: {self.seen!r}")
            self.seen += data
        return self.seen[start:]

    def type(self, text):
        os.write(self.terminal, text)

    def end(self):
        self.type(b"\x04")
        end = time.monotonic() + 30
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            select.select([self.terminal], [], [], 0.05)
            try:
                os.read(self.terminal, 65536)
            except OSError:
                pass
        self.fail("Ctrl-D did not end the chat")

    def test_two_turns_and_ctrl_d(self):
        self.read_until(b"> ")
        self.type(b"What is the capital of France?\n")
        first = self.read_until(b"\n> ")
        self.assertIn(b"Paris", first)
        self.assertIn(b"prompt tokens (0 cached)", first)
        # The second turn stands on the first: its prompt begins with what is cached.
        self.type(b"And of Italy?\n")
        second = self.read_until(b"\n> ")
        self.assertIn(b"Rome", second)
        prompt, cached = map(int, re.search(rb"(\d+) prompt tokens \((\d+) cached\)", second).groups())
        self.assertGreater(cached, 35)
        self.assertGreater(prompt, cached)
        self.assertEqual(self.end(), 0)

    def test_ctrl_c_stops_the_answer_only(self):
        self.read_until(b"> ")
        self.type(b"Write a very long story about a river.\n")
        self.read_until(b"river")  # the echo
        self.read_until(b"the")
        self.type(b"\x03")
        self.read_until(b"\n> ", seconds=30)
        self.type(b"What is the capital of France?\n")
        self.assertIn(b"Paris", self.read_until(b"\n> "))
        self.assertEqual(self.end(), 0)


if __name__ == "__main__":
    if not MODEL.exists():
        print(f"skipped: the default model is not at {MODEL}: `make test` fetches it")
        sys.exit(77)
    unittest.main(verbosity=2)
