#!/usr/bin/env python3
"""Puts one fault at a time into the engine and shows that a test notices it.

The faults are tests/conformance/mutations/*.json: {"name", "file", "search", "replace"}, where `search` occurs exactly
once in `file`. For each the engine's targets are built and run; a fault that builds and passes every test has survived,
and the check fails. Sources are restored whatever happens.

    tools/mutation_check.py                 all faults, in build/dev
    tools/mutation_check.py --only budget   those whose name contains a word
    tools/mutation_check.py --only session: those of one part
"""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MUTATIONS = ROOT / "tests" / "conformance" / "mutations"
SECONDS = 300


def targets(build):
    """The unit tests of the layers below and the runner of every part of the suite."""
    named = subprocess.run(
        ["cmake", "--build", build, "--target", "help"], capture_output=True, text=True, check=True
    ).stdout
    return sorted(
        set(re.findall(r"^(engine_test|contracts_test|conformance_\w+_test):", named, re.MULTILINE))
    )


def read(only):
    mutations = []
    for path in sorted(MUTATIONS.glob("*.json")):
        for mutation in json.loads(path.read_text()):
            mutation["part"] = path.stem
            if only in f"{path.stem}: {mutation['name']}":
                mutations.append(mutation)
    return mutations


def build(directory, names):
    result = subprocess.run(
        ["cmake", "--build", directory, "-j2", "--target", *names], capture_output=True, text=True
    )
    return result.returncode == 0, result.stdout + result.stderr


def failures(directory, names):
    """The names of the tests that fail, hang or crash."""
    failed = []
    for name in names:
        try:
            result = subprocess.run(
                [directory / "bin" / name, "--gtest_brief=1"],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            failed.append(f"{name} (hangs)")
            continue
        found = re.findall(r"^\[  FAILED  \] ([\w/.]+)", result.stdout, re.MULTILINE)
        if result.returncode < 0:
            found.append(f"{name} ({signal.Signals(-result.returncode).name})")
        elif result.returncode != 0 and not found:
            found.append(f"{name} (exit {result.returncode})")
        failed += list(dict.fromkeys(found))
    return failed


def check(mutation, directory, names):
    """What became of one fault: (fine, words)."""
    path = ROOT / mutation["file"]
    original = path.read_bytes()
    text = original.decode()
    count = text.count(mutation["search"])
    if count != 1:
        return False, f"BROKEN: the text to replace occurs {count} times in {mutation['file']}"
    try:
        path.write_text(text.replace(mutation["search"], mutation["replace"]))
        built, log = build(directory, names)
        if not built:
            error = next((line for line in log.splitlines() if "error:" in line), log[-200:])
            return False, f"BROKEN: does not build: {error}"
        failed = failures(directory, names)
    finally:
        path.write_bytes(original)
    if not failed:
        return False, "SURVIVED"
    more = f" and {len(failed) - 2} more" if len(failed) > 2 else ""
    return True, "caught by " + ", ".join(failed[:2]) + more


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/dev", help="build tree, configured already")
    parser.add_argument("--only", default="", help="what '<part>: <name>' must contain")
    arguments = parser.parse_args()
    # A stop ends through the `finally` that restores the source.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))

    directory = (ROOT / arguments.build).resolve()
    names = targets(directory)
    mutations = read(arguments.only)
    if not mutations:
        sys.exit("no mutation has that name")
    built, log = build(directory, names)
    if not built:
        sys.exit(log)
    before = failures(directory, names)
    if before:
        sys.exit("fails without any fault: " + ", ".join(before))

    survived = 0
    for mutation in mutations:
        fine, words = check(mutation, directory, names)
        survived += not fine
        print(f"{mutation['part']:<10} {mutation['name']:<76} {words}", flush=True)
    build(directory, names)
    print(f"{len(mutations) - survived} of {len(mutations)} faults were caught by {', '.join(names)}")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
