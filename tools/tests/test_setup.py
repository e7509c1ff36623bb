"""setup.sh with made-up Debian tools on PATH: what it asks for, and that it does nothing when nothing is missing."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SETUP = pathlib.Path(__file__).resolve().parents[1] / "setup.sh"
BASH_TOOLS = ("awk", "bash", "cat", "env", "grep", "head", "mktemp", "rm", "sort", "tail")
TOOLS = {
    "g++": "echo 12.2.0",
    "cmake": "echo cmake version 3.25.1",
    "make": "",
    "ninja": "",
    "python3": "",
    "rustc": "echo 'rustc 1.95.0 (abc 2026-04-14)'",
    "cargo": "echo 'cargo 1.95.0 (abc 2026-04-14)'",
}
# Answers like the real one: a line a package that was ever installed, and an error when one was not.
DPKG = """shift 2
for p in "$@"; do
  case " $MISSING " in *" $p "*) ;; *) echo "$p ii " ;; esac
done
[ -z "$MISSING" ]"""


class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = pathlib.Path(folder.name)
        self.calls = self.bin / "apt-calls"
        for name in BASH_TOOLS:
            (self.bin / name).symlink_to(next(p for d in ("/usr/bin", "/bin") if (p := pathlib.Path(d, name)).exists()))
        for name, body in TOOLS.items():
            self.tool(name, body)
        self.tool("dpkg-query", DPKG)
        self.tool("id", "echo 1000")
        self.tool("apt-get", f"echo $* >>{self.calls}")

    def tool(self, name, body):
        path = self.bin / name
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)

    def run_setup(self, missing="", **environment):
        done = subprocess.run(
            ["/bin/bash", str(SETUP)], env={"PATH": str(self.bin), "MISSING": missing, **environment},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def asked(self):
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def test_nothing_missing_says_and_does_nothing(self):
        self.tool("id", "echo 0")
        self.assertEqual((0, ""), self.run_setup())
        self.assertEqual([], self.asked())

    def test_without_root_prints_one_line_to_run(self):
        code, text = self.run_setup("libfmt-dev libgtest-dev")
        self.assertEqual(1, code)
        self.assertEqual("apt-get install -y --no-install-recommends libfmt-dev libgtest-dev", text.splitlines()[-1])
        self.assertEqual([], self.asked())

    def test_root_without_apt_prints_the_line_too(self):
        self.tool("id", "echo 0")
        (self.bin / "apt-get").unlink()
        code, text = self.run_setup("libfmt-dev")
        self.assertEqual(1, code)
        self.assertEqual("apt-get install -y --no-install-recommends libfmt-dev", text.splitlines()[-1])

    def test_root_installs_exactly_what_is_missing(self):
        self.tool("id", "echo 0")
        code, text = self.run_setup("libfmt-dev")
        self.assertEqual(0, code, text)
        self.assertEqual(["install -y --no-install-recommends libfmt-dev"], self.asked())

    def test_old_package_list_is_fetched_and_tried_again(self):
        self.tool("id", "echo 0")
        fetched = self.bin / "fetched"
        script = f"echo $* >>{self.calls}; [ $1 = update ] && : >{fetched}; [ -e {fetched} ]"
        self.tool("apt-get", script)
        code, text = self.run_setup("libfmt-dev")
        self.assertEqual(0, code, text)
        self.assertEqual(["install", "update", "install"], [call.split()[0] for call in self.asked()])

    def test_failed_install_is_said_plainly(self):
        self.tool("id", "echo 0")
        self.tool("apt-get", "echo E: no network; exit 100")
        code, text = self.run_setup("libfmt-dev")
        self.assertEqual(1, code)
        self.assertIn("E: no network", text)
        self.assertIn("apt-get install -y --no-install-recommends libfmt-dev", text.splitlines()[-1])

    def test_missing_tools_are_asked_for_by_package(self):
        for tool, package in {"ninja": "ninja-build", "cargo": "rustfmt-web", "python3": "python3"}.items():
            with self.subTest(tool):
                (self.bin / tool).rename(self.bin / "away")
                code, text = self.run_setup("ninja-build")
                (self.bin / "away").rename(self.bin / tool)
                self.assertEqual(1, code)
                self.assertIn(package, text.splitlines()[-1].split())

    def test_tool_from_elsewhere_needs_no_package(self):
        self.assertEqual((0, ""), self.run_setup("g++ cmake make ninja-build"))

    def test_python_without_pip_or_venv(self):
        self.tool("python3", "exit 1")
        code, text = self.run_setup()
        self.assertEqual(1, code)
        self.assertTrue(text.endswith("python3-pip python3-venv\n"), text)

    def test_old_tools_are_refused_with_both_versions(self):
        old = {
            "g++": ("echo 11.4.0", "11.4.0", "12"),
            "cmake": ("echo cmake version 3.9.6", "3.9.6", "3.25"),
            "rustc": ("echo 'rustc 1.63.0'", "1.63.0", "1.85"),
            "cargo": ("echo 'cargo 1.9.0-nightly (x)'", "1.9.0-nightly", "1.85"),
        }
        for tool, (body, got, wanted) in old.items():
            with self.subTest(tool):
                self.tool(tool, body)
                code, text = self.run_setup()
                self.tool(tool, TOOLS[tool])
                self.assertEqual(1, code)
                self.assertIn(f"{tool} is {got}, {wanted} or newer is needed", text)

    def test_other_systems(self):
        (self.bin / "dpkg-query").unlink()
        code, text = self.run_setup()
        self.assertEqual(1, code)
        self.assertIn("not a Debian system", text)
        self.assertEqual((0, ""), self.run_setup(HEARTH_SETUP="skip"))


if __name__ == "__main__":
    unittest.main()
