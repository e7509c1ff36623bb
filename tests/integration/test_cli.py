#!/usr/bin/env python3
"""The program without a model: help, versions and wrong input. HEARTH_BINARY names it."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from program import BINARY, assert_refused, run


class Refusals(unittest.TestCase):
    """Wrong input: one line on standard error, nothing on standard output, code 2 or 1."""

    refused = assert_refused

    def test_no_command(self):
        self.refused(2)

    def test_unknown_command_and_flags(self):
        self.refused(2, "frobnicate", contains=["frobnicate"])
        self.refused(2, "run", "--no-such-flag", contains=["--no-such-flag"])
        self.refused(2, "bench", "--rows", "eight", contains=["--rows"])
        self.refused(2, "run", "--threads", "0", "m", "p", contains=["--threads"])

    def test_values_out_of_range_are_refused_before_the_model_is_looked_for(self):
        self.refused(2, "run", "--temperature", "nan", "none", "hello", contains=["temperature"])
        self.refused(2, "run", "--top-p", "1.5", "none", "hello", contains=["top_p"])
        self.refused(2, "run", "--temperature=-1", "none", "hello", contains=["temperature"])

    def test_numbers_that_do_not_fit_are_not_bent(self):
        for seed in ("-1", "18446744073709551616", "7x", ""):
            self.refused(2, "run", f"--seed={seed}", "none", "hello", contains=["--seed"])
        for value in ("-1", "0", "18446744073709551615"):
            self.refused(2, "bench", f"--prompt={value}", contains=["--prompt"])
        self.refused(2, "bench", "--rows", "0", contains=["--rows"])

    def test_an_empty_value_does_not_swallow_the_next_argument(self):
        self.refused(2, "run", "--threads=", "--max-tokens", "2", contains=["--threads"])
        self.refused(2, "run", "--raw", "--system=told", "none", "hello", contains=["--system"])
        self.refused(2, "run", "--logprobs", "2", "none", "hello", contains=["--json"])

    def test_names_with_control_characters_stay_on_one_line(self):
        self.refused(1, "info", "a\nb\x1b[31m")
        self.refused(1, "info", "none", environment={"HEARTH_HOME": "/tmp/a\nb"})
        self.refused(2, "frob\nnicate")

    def test_missing_model(self):
        with tempfile.TemporaryDirectory() as home:
            home = {"HEARTH_HOME": home}
            self.refused(1, "run", "nothing-here", "hello", contains=["nothing-here"], environment=home)
            self.refused(1, "info", "/no/such/file.gguf", contains=["/no/such/file.gguf"], environment=home)
            self.refused(1, "bench", contains=["smollm2", "make run"], environment=home)

    def test_broken_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in {
                "empty": b"",
                "text": b"this is not a model\n" * 10,
                "magic": b"GGUF",
                "version": b"GGUF" + bytes([99, 0, 0, 0]) + bytes(16),
            }.items():
                path = pathlib.Path(folder) / name
                path.write_bytes(content)
                for command in (["info", path], ["run", path, "hello"], ["tokenize", path, "hello"]):
                    self.refused(1, *command, contains=[str(path)])
            self.refused(1, "info", folder, contains=[folder])



class Plain(unittest.TestCase):
    def test_help_and_version(self):
        for flags in (["--help"], ["run", "--help"], ["bench", "--help"], ["tokenize", "--help"], ["info", "--help"]):
            result = run(*flags)
            self.assertEqual(result.returncode, 0)
            self.assertGreater(len(result.stdout), 100)
            self.assertEqual(result.stderr, b"")
        self.assertRegex(run("--version").stdout.decode(), r"^hearth \d+\.\d+\.\d+ \(.*portable.*\)\n$")

    def test_output_that_cannot_be_written_is_a_failure(self):
        for command in (["--help"], ["--version"], ["info", "--help"]):
            with open("/dev/full", "w") as full:
                result = subprocess.run([BINARY, *command], stdout=full, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(result.returncode, 1, command)
            self.assertIn(b"standard output", result.stderr)
        with open("/dev/full", "w") as full:
            result = subprocess.run([BINARY, "frobnicate"], stderr=full, timeout=60)
        self.assertEqual(result.returncode, 2)

    def test_a_wrong_option_points_to_the_help_of_its_command(self):
        assert_refused(self, 2, "run", "--bogus", contains=["`hearth run --help`"])
        assert_refused(self, 2, "--bogus", contains=["`hearth --help`"])

    def test_serve_without_a_model_takes_the_default_one(self):
        with tempfile.TemporaryDirectory() as home:
            result = subprocess.run(
                [BINARY, "serve", "--port", "0"], env={**os.environ, "HEARTH_HOME": home}, stderr=subprocess.PIPE, timeout=60
            )
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"smollm2", result.stderr)

    def test_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "request.json"
            path.write_text('{"request": {"user_seed": true}, "capabilities": {"continuous": true}}')
            plan = json.loads(run("plan", path, "--json").stdout)
            self.assertEqual(plan["mechanism"], "serial")
            self.assertEqual(plan["reasons"], ["explicit-seed-requires-serial"])
            self.assertIn("explicit-seed-requires-serial", run("plan", path).stdout.decode())
            path.write_text('{"request": {"user_sed": true}}')
            assert_refused(self, 2, "plan", path, contains=["user_sed"])
            assert_refused(self, 1, "plan", path.with_name("none"), contains=["none"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
