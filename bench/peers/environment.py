"""The peer's environment in the user's cache: llama.cpp as llama-cpp-python 0.3.36 carries it, built here from source.

In CACHE/peers/llama-cpp-python-0.3.36: `python`, a virtual environment with the bindings; `source`; and one folder of
libraries a build: `native` for this machine, `avx2` limited to AVX2. Each appears under its name only when it is whole,
so what is there is used and what is missing is made. clang builds it, since GCC 12 fails on machines with AMX.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PACKAGE, VERSION = "llama-cpp-python", "0.3.36"
NUMPY = "numpy==2.4.6"
COMPILERS = ("clang-19", "clang++-19")
PACKAGES = "clang-19 libomp-19-dev cmake ninja-build"
# Only the libraries: no tools, tests, server, nor what they share. They find each other wherever they are moved.
USUAL = [
    "-DCMAKE_INSTALL_RPATH=$ORIGIN", "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
    "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DLLAMA_BUILD_COMMON=OFF", "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_TOOLS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF", "-DLLAMA_BUILD_APP=OFF",
]  # fmt: skip
BUILDS = {
    "native": ["-DGGML_NATIVE=ON"],
    "avx2": [
        "-DGGML_NATIVE=OFF", "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DGGML_BMI2=ON",
        "-DGGML_AVX512=OFF", "-DGGML_AVX_VNNI=OFF",
    ],
}  # fmt: skip


class PeerError(Exception):
    """What a person can act on, in one line."""


def folder_of(cache):
    return cache / "peers" / f"{PACKAGE}-{VERSION}"


class Environment:
    def __init__(self, cache, stream=sys.stderr):
        self._folder, self._stream = folder_of(cache), stream

    @property
    def python(self):
        return self._folder / "python" / "bin" / "python"

    def libraries(self, build):
        return self._folder / build

    def prepare(self, build):
        """Makes what the build needs and is not there. Raises PeerError."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._make("source", self._source)
            self._make_python()
            self._make(build, lambda target: self._libraries(build, target))
        except OSError as error:
            raise PeerError(f"{error.filename or self._folder}: {error.strerror or error}") from None

    def _make(self, name, make):
        target = self._folder / name
        if target.exists():
            return
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=self._folder) as scratch:
            made = make(pathlib.Path(scratch))
            os.replace(made, target)

    def _run(self, what, *command, environment=None):
        """Runs a command; its output goes to a log that a failure names."""
        print(f"peers: {what}", file=self._stream, flush=True)
        log = self._folder / "log"
        with open(log, "w", encoding="utf-8") as output:
            done = subprocess.run(
                [str(part) for part in command], env={**os.environ, **(environment or {})}, check=False,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
        if done.returncode != 0:
            raise PeerError(f"{what}: failed; {log} says why")

    def _source(self, scratch):
        self._run(
            f"downloading {PACKAGE} {VERSION}",
            sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", PACKAGE, "--dest", scratch,
            "--disable-pip-version-check", f"{PACKAGE}=={VERSION}",
        )  # fmt: skip
        archives = list(scratch.glob("*.tar.gz"))
        if len(archives) != 1:
            raise PeerError(f"{PACKAGE} {VERSION}: got no source archive")
        (scratch / "source").mkdir()
        self._run("unpacking", "tar", "-xzf", archives[0], "-C", scratch / "source", "--strip-components=1")
        return scratch / "source"

    def _make_python(self):
        # A virtual environment holds its own path, so it cannot be moved: the last thing installed marks it as whole.
        folder, mark = self._folder / "python", self._folder / "python" / "whole"
        if mark.exists():
            return
        shutil.rmtree(folder, ignore_errors=True)
        self._run("making a virtual environment", sys.executable, "-m", "venv", folder)
        self._run(
            "installing the bindings",
            self.python, "-m", "pip", "install", "--disable-pip-version-check", NUMPY, self._folder / "source",
            environment={"CMAKE_ARGS": "-DLLAMA_BUILD=OFF -DLLAVA_BUILD=OFF"},
        )  # fmt: skip
        mark.touch()

    def _libraries(self, build, scratch):
        for tool in (*COMPILERS, "cmake", "ninja"):
            if not shutil.which(tool):
                raise PeerError(f"{tool} is missing; as root, run: apt-get install -y {PACKAGES}")
        c, cxx = COMPILERS
        self._run(
            f"configuring llama.cpp ({build})",
            "cmake", "-G", "Ninja", "-S", self._folder / "source" / "vendor" / "llama.cpp", "-B", scratch / "build",
            f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cxx}", *USUAL, *BUILDS[build],
        )  # fmt: skip
        self._run(f"building llama.cpp ({build}), some minutes", "ninja", "-C", scratch / "build", "llama")
        return scratch / "build" / "bin"
