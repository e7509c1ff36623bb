"""What the tests of the program share: running it, and where the default model lies."""

import os
import pathlib
import subprocess

BINARY = os.environ["HEARTH_BINARY"]
# A sanitizer keeps books beside the program's memory.
SANITIZED = bool(os.environ.get("HEARTH_SANITIZE"))


def hearth_home():
    if os.environ.get("HEARTH_HOME"):
        return pathlib.Path(os.environ["HEARTH_HOME"])
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "hearth"


MODEL = hearth_home() / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"


def run(*arguments, stdin=subprocess.DEVNULL, environment=None, **options):
    environment = {**os.environ, **(environment or {})}
    return subprocess.run(
        [BINARY, *map(str, arguments)], stdin=stdin, capture_output=True, env=environment, timeout=300, **options
    )


def assert_refused(test, code, *arguments, contains=(), **options):
    """Wrong input: one line on standard error, nothing on standard output, the exit code."""
    result = run(*arguments, **options)
    error = result.stderr.decode()
    test.assertEqual(result.returncode, code, error)
    test.assertEqual(result.stdout, b"")
    test.assertEqual(error.count("\n"), 1, error)
    test.assertTrue(error.startswith("hearth: "), error)
    for part in contains:
        test.assertIn(part, error)
