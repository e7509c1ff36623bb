"""A small tree that obeys every rule; each test breaks it in one place."""

import json
import pathlib

MANIFEST = """
[layers]
base = []
store = ["base"]
model = ["base", "store:store.h"]
"model/deep" = ["base", "model"]

[public]
"value.h" = "base"
"door.h" = "model"

[system_headers]
"sys/mman.h" = ["store"]
"net/" = []

[size]
fail = 20
"""

FILES = {
    "architecture.toml": MANIFEST,
    "include/hearth/value.h": "#pragma once\n",
    "include/hearth/door.h": '#pragma once\n#include "hearth/value.h"\n',
    "src/base/CMakeLists.txt": "layer(base SOURCES a.cc  # (not b.cc)\n TESTS a_test.cc TEST_USES store)\n",
    "src/base/a.h": "#pragma once\n#include <vector>\n",
    "src/base/a.cc": '#include "base/a.h"\n#include "base/a_internal.h"\n',
    "src/base/a_internal.h": "#pragma once\n",
    "src/base/a_test.cc": '#include <sys/mman.h>\n#include "base/a.h"\n#include "store/extra.h"\n#include "support/x.h"\n',
    "src/store/CMakeLists.txt": "layer(store SOURCES store.cc USES base LIBRARIES fmt::fmt)\n",
    "src/store/store.h": '#pragma once\n#include "base/a.h"\n#include "hearth/value.h"\n',
    "src/store/extra.h": "#pragma once\n",
    "src/store/store.cc": '#include "store/store.h"\n#include <sys/mman.h>\n',
    "src/model/CMakeLists.txt": "layer(\n  model\n  SOURCES\n    m.cc\n  USES\n    base\n    store\n)\n",
    "src/model/m.h": '#pragma once\n#include "store/store.h"\n',
    "src/model/m.cc": '#include "hearth/door.h"\n#include "model/m.h"\n',
    "src/model/deep/CMakeLists.txt": "layer(model/deep SOURCES d.cc USES base model)\n",
    "src/model/deep/d.cc": '#include "model/m.h"\n',
    "docs/examples/e.cc": '#include <vector>\n#include "hearth/door.h"\n',
    "tests/support/x.h": "#pragma once\n",
    "tests/support/x.cc": '#include "support/x.h"\n',
}


class ToyTree:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def append(self, name, text):
        self.write(name, (self.root / name).read_text() + text)

    def replace(self, name, old, new):
        text = (self.root / name).read_text()
        assert old in text, f"{name} does not hold {old!r}"
        self.write(name, text.replace(old, new))

    def compile_commands(self, without=()):
        """A compile_commands.json with every .cc but those; returns its path."""
        sources = [p.relative_to(self.root).as_posix() for p in self.root.rglob("*.cc")]
        path = self.root / "compile_commands.json"
        commands = [
            {"directory": str(self.root), "file": s, "command": f"c++ -o {s}.o -c {s}"}
            for s in sources
            if s not in without
        ]
        path.write_text(json.dumps(commands))
        return path
