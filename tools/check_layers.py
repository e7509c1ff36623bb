#!/usr/bin/env python3
"""Fails when the sources break architecture.toml.

usage: check_layers.py ROOT [--compile-commands FILE] [--portable]

Checked, each fault in one line that names the file and the reason:
- directions: a layer includes only layers that architecture.toml lists for it, and lists only layers above it;
  "x:y.h" opens one header of x; x_internal.h stays in its layer; paths are written from src/;
- system headers: those in [system_headers] only in the layers named there (a name that ends in '/' is a folder);
- public headers: each of include/hearth is listed in [public] with the layer that it belongs to, is used like a header
  of that layer, and includes only public and system headers;
- examples: docs/examples includes public and system headers only;
- test support: support/... only in tests; a layer's tests may also use the layer's TEST_USES;
- build: USES in src/LAYER/CMakeLists.txt equals the layer's list; every .cc is compiled (--compile-commands);
- folders: every folder of src/ is declared, every declared layer has files, no file is over [size] fail lines.

--portable: a build without instruction-set files.
"""

import argparse
import json
import os
import pathlib
import re
import sys
import tomllib

import isa_sources

INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(?:([<\"])([^>\"\n]+)[>\"]|(\S+))", re.M)
KEYWORDS = {"SOURCES", "USES", "LIBRARIES", "TESTS", "TEST_USES", "TEST_LIBRARIES"}
COMPILED_FOLDERS = ("src", "tests", "fuzz", "bench", "docs")
PUBLIC = "hearth/"


def is_test(name):
    """x_test.cc, and what only tests include: x_test_group.h."""
    return re.search(r"_test(_\w+)?\.(h|cc)$", name) is not None


def longest_prefix(path, folders):
    """The longest of the folders that holds the path, or None."""
    return max((f for f in folders if path.startswith(f + "/")), key=len, default=None)


class Manifest:
    """architecture.toml: edges[layer] = {used layer: set of opened headers, empty for all}."""

    def __init__(self, text):
        data = tomllib.loads(text)
        self.order = list(data["layers"])
        self.system_headers = data.get("system_headers", {})
        self.line_limit = data["size"]["fail"]
        self.public = data.get("public", {})  # header of include/hearth -> the layer that it belongs to
        self.edges = {}
        for layer, entries in data["layers"].items():
            edges = self.edges[layer] = {}
            for entry in entries:
                target, _, header = entry.partition(":")
                edges.setdefault(target, set())
                if header:
                    edges[target].add(header)

    def problems(self):
        for layer, edges in self.edges.items():
            for target in edges:
                if target not in self.edges:
                    yield f"architecture.toml: {layer} lists {target}, which is not a layer"
                elif self.order.index(target) >= self.order.index(layer):
                    yield f"architecture.toml: {layer} lists {target}, which is not above it"
        for header, layers in self.system_headers.items():
            for layer in layers:
                if layer not in self.edges:
                    yield f"architecture.toml: {header} names {layer}, which is not a layer"
        for header, layer in self.public.items():
            if layer not in self.edges:
                yield f"architecture.toml: {PUBLIC}{header} names {layer}, which is not a layer"

    def owners(self, header):
        """The layers that may include the system header; None when all may."""
        if header in self.system_headers:
            return self.system_headers[header]
        folder = max(
            (h for h in self.system_headers if h.endswith("/") and header.startswith(h)), key=len, default=None
        )
        return self.system_headers.get(folder)


def layer_calls(text):
    """[(name, {keyword: [values]})] of the layer(...) calls of a CMake file."""
    text = re.sub(r"#[^\n]*", "", text)
    calls = []
    for body in re.findall(r"(?<![\w])layer\s*\(([^)]*)\)", text):
        name, *words = body.split()
        arguments, keyword = {}, None
        for word in words:
            if word in KEYWORDS:
                keyword = word
                arguments.setdefault(keyword, [])
            elif keyword:
                arguments[keyword].append(word)
        calls.append((name, arguments))
    return calls


class Checker:
    def __init__(self, root, compiled=None, portable=False):
        self.root, self.compiled, self.portable = root, compiled, portable
        self.manifest = Manifest((root / "architecture.toml").read_text(encoding="utf-8"))
        self.test_uses = {}

    def problems(self):
        yield from self.manifest.problems()
        yield from self.build_problems()
        used = set()
        for path in self.files("src", {".h", ".cc"}):
            name = path.relative_to(self.root / "src").as_posix()
            layer = longest_prefix(name, self.manifest.edges)
            if layer is None:
                yield f"src/{name}: its folder is not in architecture.toml"
                continue
            used.add(layer)
            yield from self.file_problems(path, lambda *include: self.include_problem(name, layer, *include))
        yield from self.public_problems()
        yield from self.example_problems()
        yield from (f"architecture.toml: {l} is empty" for l in self.manifest.order if l not in used)
        yield from self.uncompiled()

    def file_problems(self, path, include_problem):
        where = path.relative_to(self.root).as_posix()
        text = path.read_text(encoding="utf-8", errors="replace")
        lines = text.count("\n")
        if lines > self.manifest.line_limit:
            yield f"{where}: {lines} lines, at most {self.manifest.line_limit} are allowed"
        for match in INCLUDE.finditer(text):
            if problem := include_problem(*match.groups()):
                yield f"{where}: {problem}"

    def public_problems(self):
        listed = set(self.manifest.public)
        for path in self.files("include", {".h", ".cc"}):
            name = path.relative_to(self.root / "include").as_posix()
            header = name.removeprefix(PUBLIC)
            if header == name or header not in listed:
                yield f"include/{name}: [public] of architecture.toml does not list it"
                continue
            listed.discard(header)
            layer = self.manifest.public[header]
            yield from self.file_problems(
                path, lambda *include, name=name, layer=layer: self.public_include_problem(name, layer, *include)
            )
        yield from (f"architecture.toml: {PUBLIC}{header} is no file of include/" for header in sorted(listed))

    def example_problems(self):
        for path in self.files("docs/examples", {".h", ".cc"}):
            for match in INCLUDE.finditer(path.read_text(encoding="utf-8", errors="replace")):
                mark, header, computed = match.groups()
                known = header and header.startswith(PUBLIC) and header.removeprefix(PUBLIC) in self.manifest.public
                if mark != "<" and not known:
                    where = path.relative_to(self.root).as_posix()
                    yield f"{where}: includes {header or computed}: an example may include only public headers"

    def public_include_problem(self, name, layer, mark, header, computed):
        if not computed and mark == '"' and not header.startswith(PUBLIC):
            return f"includes {header}: a public header may include only public ones"
        return self.include_problem(name, layer, mark, header, computed)

    def files(self, folder, suffixes):
        return sorted(p for p in (self.root / folder).rglob("*") if p.suffix in suffixes)

    def build_problems(self):
        declared = set()
        for path in sorted((self.root / "src").rglob("CMakeLists.txt")):
            where = path.relative_to(self.root).as_posix()
            for name, arguments in layer_calls(path.read_text(encoding="utf-8")):
                declared.add(name)
                self.test_uses[name] = set(arguments.get("TEST_USES", []))
                if name not in self.manifest.edges:
                    yield f"{where}: layer {name} is not in architecture.toml"
                    continue
                built, allowed = set(arguments.get("USES", [])), set(self.manifest.edges[name])
                for extra in sorted(built - allowed):
                    yield f"{where}: {name} USES {extra}, which architecture.toml does not list for it"
                for unused in sorted(allowed - built):
                    yield f"{where}: {name} does not list {unused} in USES, but architecture.toml does"
        for layer in self.manifest.order:
            if layer not in declared:
                yield f"architecture.toml: {layer} is no layer(...) of any CMakeLists.txt"

    def include_problem(self, name, layer, mark, header, computed):
        if computed:
            return f"includes {computed}: a macro hides what it is"
        if mark == "<":
            owners = self.manifest.owners(header)
            if owners is not None and layer not in owners and not is_test(name):
                return f"includes <{header}>, allowed only in {', '.join(owners) or 'tests'}"
            return None
        if header.startswith("support/"):
            return None if is_test(name) else f"includes {header}: test support in production code"
        if header.startswith(PUBLIC):
            return self.use_of_public_problem(name, layer, header)
        if not (self.root / "src" / header).is_file():
            return f"includes {header}: no such file; write the path from src/"
        target = longest_prefix(header, self.manifest.edges)
        if target == layer:
            return None
        edges = self.manifest.edges[layer]
        if target not in edges:
            if is_test(name) and target in self.test_uses.get(layer, ()):
                return None
            return f"includes {header}: {layer} may not use {target}"
        if header.endswith("_internal.h"):
            return f"includes {header}: internal to {target}"
        opened = edges[target]
        if opened and header.removeprefix(target + "/") not in opened and not is_test(name):
            return f"includes {header}: {layer} sees only {', '.join(sorted(opened))} of {target}"
        return None

    def use_of_public_problem(self, name, layer, header):
        target = self.manifest.public.get(header.removeprefix(PUBLIC))
        if target is None:
            return f"includes {header}: no public header"
        if target == layer or target in self.manifest.edges.get(layer, ()):
            return None
        if is_test(name) and target in self.test_uses.get(layer, ()):
            return None
        return f"includes {header}: {layer} may not use {target}, to which it belongs"

    def uncompiled(self):
        if self.compiled is None:
            return
        for folder in COMPILED_FOLDERS:
            for path in self.files(folder, {".cc"}):
                name = path.relative_to(self.root).as_posix()
                if isa_sources.expected(name, self.portable) and os.path.realpath(path) not in self.compiled:
                    yield f"{name}: no target compiles it"


def compiled_files(path):
    commands = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    return {os.path.realpath(os.path.join(c["directory"], c["file"])) for c in commands}


def main(arguments):
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2].removeprefix("usage: "))
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--compile-commands")
    parser.add_argument("--portable", action="store_true")
    options = parser.parse_args(arguments)
    compiled = compiled_files(options.compile_commands) if options.compile_commands else None
    found = list(Checker(options.root, compiled, options.portable).problems())
    print("\n".join(found) or "layers: clean")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
