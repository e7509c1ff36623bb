#!/usr/bin/env python3
"""A project that takes hearth in by add_subdirectory, as README.md says: it configures, gets no tests and no examples, and a
program over the public headers compiles. Building the library a second time would take minutes.
"""

import json
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

TREE = pathlib.Path(os.environ.get("HEARTH_TREE", pathlib.Path(__file__).resolve().parents[2]))
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_subdirectory("{tree}" hearth EXCLUDE_FROM_ALL)
add_executable(outer outer.cc)
target_link_libraries(outer PRIVATE hearth_library)
"""
PROGRAM = """
#include "hearth/blocking.h"
int main() {
  hearth::Engine engine({.model = "smollm2"});
  return hearth::blocking::Ask(engine, {{"user", "Hello"}}, {.max_tokens = 8}).empty() ? 1 : 0;
}
"""


class Embedding(unittest.TestCase):
    def test_a_program_of_another_project(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "CMakeLists.txt").write_text(PROJECT.format(tree=TREE))
            (folder / "outer.cc").write_text(PROGRAM)
            build = folder / "build"
            configured = subprocess.run(
                ["cmake", "-G", "Ninja", "-S", folder, "-B", build, "-DCMAKE_BUILD_TYPE=Release"],
                capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            self.assertEqual(configured.returncode, 0, configured.stderr)
            commands = {c["file"]: c for c in json.loads((build / "compile_commands.json").read_text())}
            foreign = [f for f in commands if f.endswith("_test.cc") or "/docs/" in f or "/fuzz/" in f]
            self.assertEqual(foreign, [])
            command = commands[str(folder / "outer.cc")]
            compiled = subprocess.run(
                [*shlex.split(command["command"]), "-fsyntax-only"],
                cwd=command["directory"], capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            self.assertEqual(compiled.returncode, 0, compiled.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
