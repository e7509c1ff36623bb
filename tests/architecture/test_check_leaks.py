"""Seeds each forbidden string and asserts that it is found with its file and line."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_leaks  # noqa: E402


class CheckLeaksTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "docs").mkdir()
        (self.root / "docs" / "a.md").write_text("clean: a frame/work place, a library, crates of apples\n")

    def found(self):
        return list(check_leaks.problems(self.root))

    def git(self, *arguments):
        subprocess.run(["git", "-C", str(self.root), *arguments], check=True, capture_output=True)

    def test_clean(self):
        self.assertEqual([], self.found())

    def test_each_string_is_found(self):
        for string, what in check_leaks.FORBIDDEN.items():
            with self.subTest(string):
                (self.root / "docs" / "b.md").write_text(f"one\ntwo <{string}> three\n")
                self.assertEqual([f"docs/b.md:2: names {string}, {what}"], self.found())

    def test_only_tracked_files_count_in_git(self):
        string = next(iter(check_leaks.FORBIDDEN))
        (self.root / "b.md").write_text(string)
        self.git("init", "-q")
        self.git("add", "docs")
        self.assertEqual([], self.found())
        self.git("add", "b.md")
        self.assertEqual(1, len(self.found()))

    def test_bytes_that_are_no_text_are_skipped(self):
        string = next(iter(check_leaks.FORBIDDEN))
        (self.root / "model.bin").write_bytes(b"\xff\xfe\x00" + string.encode())
        self.assertEqual([], self.found())

    def test_lock_files_of_cargo_are_clean(self):
        (self.root / "Cargo.lock").write_text('source = "registry+https://github.com/rust-lang/crates' + '.io-index"\n')
        self.assertEqual([], self.found())


if __name__ == "__main__":
    unittest.main()
