#!/usr/bin/env python3
"""Puts the vocabularies and chat templates that the parity tests read into the user's cache, once.

usage: fetch_test_assets.py

They come out of the source package llama-cpp-python 0.3.36 and lie in <cache>/test-assets/llama-cpp-python-0.3.36,
where <cache> is $HEARTH_HOME, else $XDG_CACHE_HOME/hearth, else ~/.cache/hearth. When they are there the network is not
asked. Without a network it exits with 1; the tests that need the files are then skipped.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import sys
import tarfile
import tempfile
import time

from fetch_model import (
    TEMPORARY,
    Download,
    FetchError,
    cache_home,
    pip_command,
    pip_download,
    remove_abandoned,
    sha256_of,
)

MANIFEST = "manifest.json"
# No vocabulary or template is near this; it bounds what a wrong archive can write.
MAX_FILE_BYTES = 64 << 20


@dataclasses.dataclass(frozen=True)
class Package:
    """A source package, and what is taken out of it."""

    name: str
    version: str
    size: int  # bytes of the archive, for the progress bar
    sha256: str  # of the archive
    vocabularies: tuple  # names; with each comes its pair of tests where there is one
    templates: str  # folder in the archive
    models: str  # likewise, of the vocabularies
    licence: str

    @property
    def folder(self):
        return f"{self.name}-{self.version}"


LLAMA_CPP = Package(
    name="llama-cpp-python",
    version="0.3.36",
    size=76_589_250,
    sha256="832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
    vocabularies=(
        "bert-bge", "command-r", "deepseek-coder", "deepseek-llm", "falcon", "gemma-4", "gpt-2", "llama-bpe",
        "llama-spm", "mpt", "phi-3", "qwen2", "qwen35", "refact", "starcoder",
    ),
    templates="llama_cpp_python-0.3.36/vendor/llama.cpp/models/templates",
    models="llama_cpp_python-0.3.36/vendor/llama.cpp/models",
    licence="llama_cpp_python-0.3.36/vendor/llama.cpp/LICENSE",
)  # fmt: skip


def target_of(package, member):
    """Where a member of the archive goes, relative to the assets' folder; None for most of them."""
    path = pathlib.PurePosixPath(member)
    if str(path) == package.licence:
        return "LICENSE"
    if str(path.parent) == package.templates and path.suffix == ".jinja":
        return f"templates/{path.name}"
    if str(path.parent) == package.models:
        for name in package.vocabularies:
            if path.name in {f"ggml-vocab-{name}.gguf{end}" for end in ("", ".inp", ".out")}:
                return f"vocabularies/{path.name}"
    return None


def present(package, folder):
    """Whether everything is there that was wanted when it was put there, and is still wanted."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return manifest["vocabularies"] == list(package.vocabularies) and all(
            (folder / name).stat().st_size == size for name, size in manifest["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def download(package, folder, pip, stream):
    """The package's source archive, downloaded into the folder and checked."""
    wanted = Download(package.name, package.version, package.size, "source", "fetching test assets")
    archive = pip_download(wanted, folder, pip, stream)
    digest = sha256_of(archive)
    if digest != package.sha256:
        raise FetchError(
            f"{archive.name}: got SHA-256 {digest[:16]}..., wanted {package.sha256[:16]}...; nothing was kept"
        )
    return archive


def unpack(package, archive, folder):
    """Writes the wanted members and the manifest into the folder."""
    sizes = {}
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            target = target_of(package, member.name)
            if target is None or not member.isfile():
                continue
            if member.size > MAX_FILE_BYTES:
                raise FetchError(f"{member.name} has {member.size} bytes, at most {MAX_FILE_BYTES} are taken")
            path = folder / target
            path.parent.mkdir(exist_ok=True)
            with tar.extractfile(member) as source, open(path, "wb") as out:
                shutil.copyfileobj(source, out)
            sizes[target] = member.size
    for name in package.vocabularies:
        if f"vocabularies/ggml-vocab-{name}.gguf" not in sizes:
            raise FetchError(f"{archive.name} does not hold the vocabulary {name}")
    manifest = {"vocabularies": list(package.vocabularies), "files": sizes}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def fetch(package, home, pip=None, stream=sys.stderr):
    """Makes sure of the assets and returns their folder. Raises FetchError."""
    target = home / "test-assets" / package.folder
    if present(package, target):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        needed, free = 3 * package.size, shutil.disk_usage(target.parent).free
        if free < needed:
            raise FetchError(f"{target.parent} has {free / 1e6:.0f} MB free, {needed / 1e6:.0f} MB are needed")
        started = time.monotonic()
        remove_abandoned(target.parent)
        with tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=target.parent) as name:
            folder = pathlib.Path(name)
            whole = folder / "whole"
            whole.mkdir()
            unpack(package, download(package, folder, pip or pip_command(), stream), whole)
            # An older or incomplete set makes room; a test that reads it at this very moment may fail.
            if target.exists():
                os.replace(target, folder / "old")
            os.replace(whole, target)
        print(f"fetched test assets in {time.monotonic() - started:.0f} s", file=stream)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise FetchError(f"{getattr(error, 'filename', None) or target}: {error}") from None
    return target


def main(arguments, environment):
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that temporary files go in this case too
    try:
        fetch(LLAMA_CPP, cache_home(environment))
    except FetchError as error:
        print(f"fetch_test_assets: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("fetch_test_assets: interrupted; nothing was kept", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
