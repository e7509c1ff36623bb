#!/usr/bin/env python3
"""Fails when a file of the project names a place that only the authors' machines have, or a package registry's host.

usage: check_leaks.py ROOT

Where packages come from is each user's own setting (pip, cargo and apt have one), so no host belongs in the project.
Looks at every file that git tracks, or at every file where there is no git; files that are not UTF-8 are skipped.
"""

import pathlib
import subprocess
import sys

# In pieces, so that this file is no hit itself.
FORBIDDEN = {
    "/wo" + "rk/": "a path of the authors' machines",
    ".lib" + "rary": "a path of the authors' machines",
    "py" + "pi.org": "a package registry",
    "python" + "hosted.org": "a package registry",
    "//crates" + ".io": "a package registry",
    "static.crates" + ".io": "a package registry",
    "index.crates" + ".io": "a package registry",
    "npm" + "js.org": "a package registry",
    "npm" + "js.com": "a package registry",
    "deb." + "debian.org": "a package registry",
    "security." + "debian.org": "a package registry",
    "proxy." + "golang.org": "a package registry",
    "repo.maven." + "apache.org": "a package registry",
}


def tracked(root):
    listing = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=False)
    # A source archive inside another checkout is not that checkout's: git then lists nothing here.
    names = [name for name in listing.stdout.decode().split("\0") if name]
    if listing.returncode == 0 and names:
        return [root / name for name in names]
    return [p for p in sorted(root.rglob("*")) if "build" not in p.relative_to(root).parts[:1]]


def problems(root):
    for path in tracked(root):
        if not path.is_file():
            continue
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        name = path.relative_to(root).as_posix()
        for string, what in FORBIDDEN.items():
            start = text.find(string)
            if start >= 0:
                line = text.count("\n", 0, start) + 1
                yield f"{name}:{line}: names {string}, {what}"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    found = list(problems(pathlib.Path(arguments[0]).resolve()))
    print("\n".join(found) or "leaks: none")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
