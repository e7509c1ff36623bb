"""fetch_test_assets.py with a small archive and a pip made of a few lines, so that no network is needed."""

import dataclasses
import hashlib
import io
import json
import pathlib
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import fetch_test_assets as assets  # noqa: E402

ROOT = assets.LLAMA_CPP.models


class FetchTestAssetsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.home = self.folder / "home"
        self.archive = self.folder / "package.tar.gz"
        self.calls = self.folder / "calls"
        self.errors = io.StringIO()
        self.members = {
            f"{ROOT}/ggml-vocab-a.gguf": b"vocabulary a",
            f"{ROOT}/ggml-vocab-a.gguf.inp": b"input",
            f"{ROOT}/ggml-vocab-a.gguf.out": b"output",
            f"{ROOT}/ggml-vocab-b.gguf": b"vocabulary b",
            f"{ROOT}/ggml-vocab-other.gguf": b"not wanted",
            f"{ROOT}/templates/T-1.jinja": b"{{ x }}",
            f"{ROOT}/templates/README.md": b"not wanted",
            f"{ROOT}/templates/deep/T-2.jinja": b"not wanted",
            "elsewhere/ggml-vocab-a.gguf": b"not wanted",
            assets.LLAMA_CPP.licence: b"words of the licence",
        }
        self.package = self.pack()

    def pack(self):
        with tarfile.open(self.archive, "w:gz") as tar:
            for name, content in self.members.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        data = self.archive.read_bytes()
        return dataclasses.replace(
            assets.LLAMA_CPP, size=len(data), sha256=hashlib.sha256(data).hexdigest(), vocabularies=("a", "b")
        )

    def pip(self, body="shutil.copy(archive, dest / 'x.tar.gz')"):
        script = self.folder / "pip.py"
        script.write_text(
            "import pathlib, shutil, sys\n"
            "dest = pathlib.Path(sys.argv[sys.argv.index('--dest') + 1])\n"
            f"archive = pathlib.Path({str(self.archive)!r})\n"
            f"open({str(self.calls)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n{body}\n"
        )
        return [sys.executable, str(script)]

    def fetch(self, pip=None):
        return assets.fetch(self.package, self.home, pip or self.pip(), self.errors)

    def files(self):
        root = self.home / "test-assets"
        return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())

    def assert_fails(self, pip, *words):
        with self.assertRaises(assets.FetchError) as caught:
            self.fetch(pip)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_takes_only_what_is_wanted(self):
        folder = self.fetch()
        self.assertEqual(self.home / "test-assets" / "llama-cpp-python-0.3.36", folder)
        self.assertEqual(
            [
                f"llama-cpp-python-0.3.36/{name}"
                for name in (
                    "LICENSE", "manifest.json", "templates/T-1.jinja", "vocabularies/ggml-vocab-a.gguf",
                    "vocabularies/ggml-vocab-a.gguf.inp", "vocabularies/ggml-vocab-a.gguf.out",
                    "vocabularies/ggml-vocab-b.gguf",
                )
            ],
            self.files(),
        )  # fmt: skip
        self.assertEqual(b"vocabulary a", (folder / "vocabularies/ggml-vocab-a.gguf").read_bytes())
        self.assertIn("--no-binary=llama-cpp-python", self.calls.read_text())
        self.assertIn("llama-cpp-python==0.3.36", self.calls.read_text())

    def test_second_time_asks_nobody(self):
        folder = self.fetch()
        self.assertEqual(folder, self.fetch(self.pip("sys.exit(1)")))
        self.assertEqual(1, len(self.calls.read_text().splitlines()))

    def test_incomplete_or_older_set_is_fetched_anew(self):
        folder = self.fetch()
        (folder / "vocabularies/ggml-vocab-b.gguf").write_bytes(b"short")
        self.fetch()
        self.assertEqual(b"vocabulary b", (folder / "vocabularies/ggml-vocab-b.gguf").read_bytes())
        manifest = folder / "manifest.json"
        for broken in ("", "[]", json.dumps({"vocabularies": ["a"], "files": {}})):
            manifest.write_text(broken)
            self.fetch()
        self.assertEqual(5, len(self.calls.read_text().splitlines()))
        self.assertEqual(7, len(self.files()), "the old set is gone")

    def test_wrong_archive_is_refused(self):
        self.package = dataclasses.replace(self.package, sha256="0" * 64)
        self.assert_fails(None, "SHA-256", "wanted 0000000000000000")
        self.assertEqual([], self.files())

    def test_missing_vocabulary_is_told(self):
        del self.members[f"{ROOT}/ggml-vocab-b.gguf"]
        self.package = self.pack()
        self.assert_fails(None, "vocabulary b")

    def test_broken_archive_is_told(self):
        self.archive.write_bytes(self.archive.read_bytes()[:-40])
        self.package = dataclasses.replace(
            self.package, sha256=hashlib.sha256(self.archive.read_bytes()).hexdigest()
        )
        self.assert_fails(None)
        self.assertEqual([], self.files())

    def test_no_network_is_told(self):
        pip = self.pip("sys.stderr.write('WARNING: Retrying ... connection broken\\n'); sys.exit(1)")
        self.assert_fails(pip, "llama-cpp-python 0.3.36", "no network")
        self.assertEqual([], self.files())


if __name__ == "__main__":
    unittest.main()
