"""Compiles small instruction-set sources and asserts that weak symbols are found."""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_isa_objects  # noqa: E402

CLEAN = 'extern "C" int dot(int a) { return a * 2; }\n'
TEMPLATE = "template <class T> __attribute__((noinline)) T twice(T a) { return a + a; }\n"
WEAK = TEMPLATE + "int dot(int a) { return twice(a); }\n"
UNIQUE = "struct S { static int f() { static int n; return ++n; } };\nint dot() { return S::f(); }\n"


class CheckIsaObjectsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.build = self.root / "build"
        self.build.mkdir()
        machine, check_isa_objects.isa_sources.machine = check_isa_objects.isa_sources.machine, lambda: "x86"
        self.addCleanup(setattr, check_isa_objects.isa_sources, "machine", machine)
        self.commands = []

    def add(self, name, text, compiled=True):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if compiled:
            output = name.replace("/", "_") + ".o"
            command = f"g++ -O1 -o {output} -c {path}"
            subprocess.run(command.split(), cwd=self.build, check=True)
            self.commands.append({"directory": str(self.build), "file": str(path), "command": command})

    def check(self, *options):
        (self.build / "compile_commands.json").write_text(json.dumps(self.commands))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = check_isa_objects.main([str(self.root), str(self.build), *options])
        return code, output.getvalue()

    def test_clean_object(self):
        self.add("src/kernels/avx2/dot.cc", CLEAN)
        self.assertEqual((0, "isa objects: 1 clean\n"), self.check())

    def test_weak_symbols_are_named(self):
        for name in ("src/kernels/avx512/dot.cc", "src/kernels/sum_amx_bf16.cc", "src/kernels/sum_avx2.cc"):
            with self.subTest(name):
                self.commands = []
                self.add(name, WEAK)
                code, output = self.check()
                self.assertEqual(1, code)
                self.assertIn(f"{name}: weak symbol _Z5twice", output)
                (self.root / name).unlink()

    def test_unique_symbol_of_a_static_in_an_inline_function(self):
        self.add("src/kernels/avx2/dot.cc", UNIQUE)
        code, output = self.check()
        self.assertEqual(1, code)
        self.assertIn("(u)", output)

    def test_portable_sources_and_tests_may_have_them(self):
        self.add("src/kernels/avx2/dot.cc", CLEAN)
        self.add("src/kernels/portable/dot.cc", WEAK)
        self.add("src/kernels/avx2/dot_test.cc", WEAK)
        self.add("src/models/dot_avx2.cc", WEAK)
        self.assertEqual((0, "isa objects: 1 clean\n"), self.check())

    def test_source_that_is_not_compiled(self):
        self.add("src/kernels/avx2/dot.cc", CLEAN, compiled=False)
        self.assertEqual((1, "src/kernels/avx2/dot.cc: no target compiles it\n"), self.check())
        self.assertEqual(77, self.check("--portable")[0])

    def test_object_that_is_not_built(self):
        self.add("src/kernels/avx2/dot.cc", CLEAN)
        (self.build / "src_kernels_avx2_dot.cc.o").unlink()
        code, output = self.check()
        self.assertEqual(1, code)
        self.assertIn("is not built", output)

    def test_nothing_to_look_at_is_a_skip(self):
        self.add("src/kernels/portable/dot.cc", WEAK)
        self.add("src/kernels/neon/dot.cc", CLEAN, compiled=False)
        self.assertEqual(77, self.check()[0])


if __name__ == "__main__":
    unittest.main()
