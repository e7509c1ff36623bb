#!/usr/bin/env bash
# Prints the path of a formatter or linter in the version that tools/requirements.txt names: the one on PATH
# when it is that version, else one in build/tools-venv, which is made on first use (this needs the network).
#
# usage: tools/dev_tool.sh clang-format|clang-tidy
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
tool=$1
wanted=$(sed -n "s/^$tool==//p" "$root/tools/requirements.txt")
[ -n "$wanted" ] || { echo "dev_tool: $tool is not in tools/requirements.txt" >&2; exit 1; }

is_wanted() { "$1" --version 2>/dev/null | grep -qF "version $wanted"; }

venv=$root/build/tools-venv
for candidate in "$(command -v "$tool" || true)" "$venv/bin/$tool"; do
  if [ -n "$candidate" ] && is_wanted "$candidate"; then
    echo "$candidate"
    exit 0
  fi
done

echo "dev_tool: installing $tool $wanted into build/tools-venv" >&2
[ -x "$venv/bin/python3" ] || python3 -m venv "$venv" >&2
"$venv/bin/python3" -m pip install --quiet --disable-pip-version-check "$tool==$wanted" >&2 ||
  { echo "dev_tool: could not install $tool $wanted; is there a network?" >&2; exit 1; }
echo "$venv/bin/$tool"
