#!/usr/bin/env python3
"""Fails when the object of an instruction-set source holds a weak symbol.

usage: check_isa_objects.py ROOT BUILD_DIR [--portable]

A weak symbol is code that several objects hold (an inline function, a template): the linker keeps one copy, and if it
keeps the one that was compiled for AVX-512, the program dies on a machine without. Not for builds with sanitizers,
whose run-time support is weak by design. Exits 77 when the tree has no such sources.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import isa_sources

WEAK = re.compile(r"^(\S+) ([WVu]) ", re.M)  # nm --format=posix: weak function, weak object, unique object


def object_files(root, build, portable):
    """{source: object} of the instruction-set sources, from the build's own commands; and the sources without one."""
    objects = {}
    for command in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        name = os.path.relpath(os.path.realpath(os.path.join(command["directory"], command["file"])), root)
        if isa_sources.isa_of(name):
            words = command.get("arguments") or shlex.split(command["command"])
            objects[name] = pathlib.Path(command["directory"], words[words.index("-o") + 1])
    sources = sorted(path.relative_to(root).as_posix() for path in (root / "src").rglob("*.cc"))
    wanted = [s for s in sources if isa_sources.isa_of(s) and isa_sources.expected(s, portable)]
    return objects, [s for s in wanted if s not in objects], bool(wanted)


def problems_of(objects):
    for source, path in sorted(objects.items()):
        if not path.is_file():
            yield f"{source}: {path} is not built"
            continue
        listing = subprocess.run(
            ["nm", "--format=posix", "--defined-only", str(path)], capture_output=True, text=True, check=True
        ).stdout
        for symbol, kind in WEAK.findall(listing):
            yield f"{source}: weak symbol {symbol} ({kind}): keep inline library code out of this file"


def main(arguments):
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2].removeprefix("usage: "))
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--portable", action="store_true")
    options = parser.parse_args(arguments)
    root, build = options.root.resolve(), options.build.resolve()
    objects, missing, any_wanted = object_files(root, build, options.portable)
    if not any_wanted and not objects:
        print("no source of one instruction set is part of this build")
        return 77
    found = [f"{source}: no target compiles it" for source in missing] + list(problems_of(objects))
    print("\n".join(found) or f"isa objects: {len(objects)} clean")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
