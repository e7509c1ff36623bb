"""Seeds each kind of fault in a toy tree and asserts that the checker names it, and nothing else."""

import pathlib
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "tools"), str(pathlib.Path(__file__).parent)]
import check_layers  # noqa: E402
from toy_tree import ToyTree  # noqa: E402


class CheckLayersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = ToyTree(folder.name)

    def found(self, without=(), **options):
        compiled = check_layers.compiled_files(self.tree.compile_commands(without))
        return list(check_layers.Checker(self.tree.root, compiled, **options).problems())

    def assert_fault(self, *lines, **options):
        self.assertEqual(list(lines), self.found(**options))

    def test_clean_tree(self):
        self.assert_fault()

    def test_include_against_the_direction(self):
        self.tree.append("src/base/a.cc", '#include "model/m.h"\n')
        self.assert_fault("src/base/a.cc: includes model/m.h: base may not use model")

    def test_indented_include_is_seen(self):
        self.tree.append("src/base/a.cc", ' #  include "model/m.h"\n')
        self.assert_fault("src/base/a.cc: includes model/m.h: base may not use model")

    def test_second_header_of_a_one_header_edge(self):
        self.tree.append("src/model/m.cc", '#include "store/extra.h"\n')
        self.assert_fault("src/model/m.cc: includes store/extra.h: model sees only store.h of store")

    def test_inner_layer_is_a_layer_of_its_own(self):
        self.tree.append("src/model/deep/d.cc", '#include "store/store.h"\n')
        self.assert_fault("src/model/deep/d.cc: includes store/store.h: model/deep may not use store")

    def test_internal_header_of_another_layer(self):
        self.tree.append("src/store/store.cc", '#include "base/a_internal.h"\n')
        self.assert_fault("src/store/store.cc: includes base/a_internal.h: internal to base")

    def test_path_not_from_src(self):
        self.tree.append("src/base/a.cc", '#include "a.h"\n')
        self.assert_fault("src/base/a.cc: includes a.h: no such file; write the path from src/")

    def test_include_behind_a_macro(self):
        self.tree.append("src/base/a.cc", "#include HEADER\n")
        self.assert_fault("src/base/a.cc: includes HEADER: a macro hides what it is")

    def test_banned_system_header(self):
        self.tree.append("src/model/m.cc", "#include <sys/mman.h>\n")
        self.assert_fault("src/model/m.cc: includes <sys/mman.h>, allowed only in store")

    def test_banned_folder_of_system_headers(self):
        self.tree.append("src/model/m.cc", "#include <net/if.h>\n")
        self.assert_fault("src/model/m.cc: includes <net/if.h>, allowed only in tests")

    def test_public_header_of_a_layer_that_may_not_be_used(self):
        self.tree.append("src/store/store.cc", '#include "hearth/door.h"\n')
        self.assert_fault("src/store/store.cc: includes hearth/door.h: store may not use model, to which it belongs")

    def test_public_header_that_is_not_there(self):
        self.tree.append("src/store/store.cc", '#include "hearth/gone.h"\n')
        self.assert_fault("src/store/store.cc: includes hearth/gone.h: no public header")

    def test_public_header_that_includes_an_inner_one(self):
        self.tree.append("include/hearth/door.h", '#include "model/m.h"\n')
        self.assert_fault(
            "include/hearth/door.h: includes model/m.h: a public header may include only public ones"
        )

    def test_public_header_that_looks_upward(self):
        self.tree.append("include/hearth/value.h", '#include "hearth/door.h"\n')
        self.assert_fault(
            "include/hearth/value.h: includes hearth/door.h: base may not use model, to which it belongs"
        )

    def test_public_header_with_a_banned_system_header(self):
        self.tree.append("include/hearth/door.h", "#include <sys/mman.h>\n")
        self.assert_fault("include/hearth/door.h: includes <sys/mman.h>, allowed only in store")

    def test_public_headers_are_listed_and_listed_ones_are_there(self):
        self.tree.write("include/hearth/new.h", "#pragma once\n")
        self.tree.write("include/other/value.h", "#pragma once\n")
        self.tree.replace("architecture.toml", '"door.h" = "model"', '"door.h" = "model"\n"gone.h" = "model"')
        self.assert_fault(
            "include/hearth/new.h: [public] of architecture.toml does not list it",
            "include/other/value.h: [public] of architecture.toml does not list it",
            "architecture.toml: hearth/gone.h is no file of include/",
        )

    def test_public_header_with_an_unknown_layer(self):
        self.tree.replace("architecture.toml", '"door.h" = "model"', '"door.h" = "ghost"')
        self.assert_fault(
            "architecture.toml: hearth/door.h names ghost, which is not a layer",
            "src/model/m.cc: includes hearth/door.h: model may not use ghost, to which it belongs",
            "include/hearth/door.h: includes hearth/value.h: ghost may not use base, to which it belongs",
        )

    def test_example_that_looks_behind_the_public_headers(self):
        self.tree.append("docs/examples/e.cc", '#include "model/m.h"\n#include "door.h"\n')
        self.assert_fault(
            "docs/examples/e.cc: includes model/m.h: an example may include only public headers",
            "docs/examples/e.cc: includes door.h: an example may include only public headers",
        )

    def test_test_support_in_production_code(self):
        self.tree.append("src/model/m.h", '#include "support/x.h"\n')
        self.assert_fault("src/model/m.h: includes support/x.h: test support in production code")

    def test_test_that_uses_an_undeclared_layer(self):
        self.tree.append("src/base/a_test.cc", '#include "model/m.h"\n')
        self.assert_fault("src/base/a_test.cc: includes model/m.h: base may not use model")

    def test_folder_that_is_not_declared(self):
        self.tree.write("src/util/u.h", "#pragma once\n")
        self.assert_fault("src/util/u.h: its folder is not in architecture.toml")

    def test_file_beside_the_layers(self):
        self.tree.write("src/u.h", "#pragma once\n")
        self.assert_fault("src/u.h: its folder is not in architecture.toml")

    def test_empty_layer(self):
        self.tree.replace("architecture.toml", '"model/deep"', 'ghost = []\n"model/deep"')
        self.assert_fault(
            "architecture.toml: ghost is no layer(...) of any CMakeLists.txt", "architecture.toml: ghost is empty"
        )

    def test_manifest_that_looks_upward(self):
        self.tree.replace("architecture.toml", "base = []", 'base = ["store"]')
        self.tree.replace("src/base/CMakeLists.txt", "SOURCES", "USES store SOURCES")
        self.assert_fault("architecture.toml: base lists store, which is not above it")

    def test_manifest_with_an_unknown_layer(self):
        self.tree.replace("architecture.toml", 'store = ["base"]', 'store = ["base", "ghost"]')
        self.assert_fault(
            "architecture.toml: store lists ghost, which is not a layer",
            "src/store/CMakeLists.txt: store does not list ghost in USES, but architecture.toml does",
        )

    def test_system_header_with_an_unknown_layer(self):
        self.tree.replace("architecture.toml", '["store"]\n"net/"', '["store", "ghost"]\n"net/"')
        self.assert_fault("architecture.toml: sys/mman.h names ghost, which is not a layer")

    def test_uses_that_the_manifest_does_not_list(self):
        self.tree.replace("src/store/CMakeLists.txt", "USES base", "USES base model")
        self.assert_fault(
            "src/store/CMakeLists.txt: store USES model, which architecture.toml does not list for it"
        )

    def test_manifest_edge_that_the_build_does_not_have(self):
        self.tree.replace("src/model/CMakeLists.txt", "    store\n", "")
        self.assert_fault(
            "src/model/CMakeLists.txt: model does not list store in USES, but architecture.toml does"
        )

    def test_undeclared_layer_in_the_build(self):
        self.tree.append("src/base/CMakeLists.txt", "layer(other SOURCES o.cc)\n")
        self.assert_fault("src/base/CMakeLists.txt: layer other is not in architecture.toml")

    def test_file_over_the_size_limit(self):
        self.tree.append("src/base/a.h", "//\n" * 19)
        self.assert_fault("src/base/a.h: 21 lines, at most 20 are allowed")

    def test_source_that_nothing_compiles(self):
        for name in ("src/model/m.cc", "src/base/a_test.cc", "tests/support/x.cc", "docs/examples/e.cc"):
            with self.subTest(name):
                self.assert_fault(f"{name}: no target compiles it", without=(name,))

    def test_instruction_set_sources_are_expected_where_they_can_be_built(self):
        name = "src/kernels/dot_avx2.cc"
        self.tree.write(name, "")
        self.tree.write("src/kernels/neon/dot.cc", "")
        self.tree.write("src/kernels/CMakeLists.txt", "layer(kernels SOURCES dot_avx2.cc)\n")
        self.tree.replace("architecture.toml", "base = []", "base = []\nkernels = []")
        machine, check_layers.isa_sources.machine = check_layers.isa_sources.machine, lambda: "x86"
        try:
            everything = (name, "src/kernels/neon/dot.cc")
            self.assert_fault(f"{name}: no target compiles it", without=everything)
            self.assert_fault(without=everything, portable=True)
        finally:
            check_layers.isa_sources.machine = machine

    def test_exit_codes(self):
        root = str(self.tree.root)
        self.assertEqual(0, check_layers.main([root, "--compile-commands", str(self.tree.compile_commands())]))
        self.tree.append("src/base/a.cc", '#include "model/m.h"\n')
        self.assertEqual(1, check_layers.main([root]))


if __name__ == "__main__":
    unittest.main()
