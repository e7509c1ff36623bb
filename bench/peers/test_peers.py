"""peers.py without a peer: statistics, arguments, and what a person is told when something is missing."""

import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import comparison  # noqa: E402
import environment  # noqa: E402
import peers  # noqa: E402


class Comparison(unittest.TestCase):
    def test_medians_and_paired_ratios(self):
        result = comparison.compare([10.0, 40.0, 30.0], [10.0, 10.0, 20.0])
        self.assertEqual(
            result, {"hearth": 30.0, "llama_cpp": 10.0, "ratio": 3.0, "ratio_min": 1.0, "ratio_max": 4.0}
        )

    def test_wants_pairs(self):
        for ours, theirs in (([], []), ([1.0], []), ([1.0], [1.0, 2.0])):
            with self.assertRaises(ValueError):
                comparison.compare(ours, theirs)

    def test_table(self):
        lines = comparison.table([("prefill 512", comparison.compare([300.0, 100.0], [100.0, 100.0]))])
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[1].split(), "prefill 512 200.0 100.0 2.00 1.00 to 3.00".split())


class Arguments(unittest.TestCase):
    def test_defaults(self):
        options = peers.parse_arguments([])
        self.assertEqual((options.model, options.isa, options.threads), ("smollm2", "native", None))
        self.assertEqual((options.prompt, options.rows, options.rounds), (512, [1, 16, 32], 5))
        names = [name for name, _ in peers.measures_of(options)]
        self.assertEqual(names, ["prefill 512", "decode 1 row", "decode 16 rows", "decode 32 rows"])

    def test_each_measure_asks_for_its_own_rows(self):
        options = peers.parse_arguments(["--rows", "2,3", "--context", "9", "--gen", "4", "--prompt", "7"])
        side = mock.Mock()
        for _, ask in peers.measures_of(options):
            ask(side)
        self.assertEqual(side.mock_calls, [mock.call.prefill(7), mock.call.decode(2, 9, 4), mock.call.decode(3, 9, 4)])

    def test_wrong_ones_are_refused(self):
        for arguments in (["--rows", "0"], ["--rows", "1,x"], ["--isa", "mmx"], ["--rounds", "0"], ["--threads", "x"]):
            errors = io.StringIO()
            with self.subTest(arguments), contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as stop:
                peers.parse_arguments(arguments)
            self.assertEqual(stop.exception.code, 2)
            self.assertIn(arguments[0], errors.getvalue())


class Missing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name)
        self.said = io.StringIO()

    def refusal(self, call):
        with self.assertRaises(peers.PeerError) as error:
            call()
        self.assertNotIn("\n", str(error.exception))
        return str(error.exception)

    def test_a_model(self):
        self.assertIn("no-such.gguf", self.refusal(lambda: peers.model_path("no-such.gguf", self.cache)))
        self.assertIn("SmolLM2", self.refusal(lambda: peers.model_path("smollm2", self.cache)))

    def test_a_model_is_found_by_path_or_by_name(self):
        (self.cache / "models").mkdir()
        path = self.cache / "models" / "m.gguf"
        path.write_bytes(b"")
        self.assertEqual(peers.model_path(str(path), self.cache), str(path.resolve()))
        self.assertEqual(peers.model_path("m.gguf", self.cache), str(path.resolve()))

    def prepared(self):
        """A cache that has everything but the libraries."""
        folder = environment.folder_of(self.cache)
        (folder / "source").mkdir(parents=True)
        (folder / "python").mkdir()
        (folder / "python" / "whole").touch()
        return environment.Environment(self.cache, self.said)

    def test_the_compiler(self):
        with mock.patch.dict(os.environ, {"PATH": str(self.cache)}):
            text = self.refusal(lambda: self.prepared().prepare("native"))
        self.assertIn("apt-get install -y clang-19", text)

    def test_a_step_that_fails_names_its_log_and_leaves_nothing(self):
        tools = self.cache / "tools"
        tools.mkdir()
        for name in (*environment.COMPILERS, "cmake", "ninja"):
            (tools / name).write_text("#!/bin/sh\necho no way\nexit 3\n")
            (tools / name).chmod(0o755)
        with mock.patch.dict(os.environ, {"PATH": f"{tools}:{os.environ['PATH']}"}):
            text = self.refusal(lambda: self.prepared().prepare("avx2"))
        log = environment.folder_of(self.cache) / "log"
        self.assertIn(str(log), text)
        self.assertEqual(log.read_text(), "no way\n")
        self.assertEqual({p.name for p in log.parent.iterdir()}, {"source", "python", "log"})

    def test_what_is_there_is_not_made_again(self):
        place = self.prepared()
        place.libraries("avx2").mkdir()
        with mock.patch.dict(os.environ, {"PATH": ""}):
            place.prepare("avx2")
        self.assertEqual(self.said.getvalue(), "")

    def test_a_peer_that_ends_is_told_in_one_line(self):
        place = mock.Mock(python=self.cache / "python")
        place.libraries.return_value = self.cache
        place.python.write_text("#!/bin/sh\necho first >&2\necho cannot load it >&2\nexit 1\n")
        place.python.chmod(0o755)
        with peers.LlamaCpp(place, "native", "m", 2) as side:
            self.assertEqual(self.refusal(lambda: side.prefill(8)), "llama.cpp ended: cannot load it")

    def test_a_peer_answers_line_by_line(self):
        place = mock.Mock(python=self.cache / "python")
        place.libraries.return_value = self.cache
        place.python.write_text(
            '#!/bin/sh\nwhile read -r line; do echo \'{"tokens_per_second": [7, 9, 8], "settings": 1}\'; done\n'
        )
        place.python.chmod(0o755)
        with peers.LlamaCpp(place, "native", "m", 2) as side:
            self.assertEqual((side.prefill(8), side.decode(1, 2, 3)), (8, 7))


if __name__ == "__main__":
    unittest.main()
