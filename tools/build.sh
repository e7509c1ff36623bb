#!/usr/bin/env bash
# Builds a preset of CMakePresets.json in build/PRESET; silent when everything is up to date.
#
# usage: tools/build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
folder=build/$preset

if [ ! -f "$folder/build.ninja" ]; then
  mkdir -p "$folder"
  log=$folder/configure.log
  cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi
# A dry run first, because ninja cannot be told to speak only when it works.
if ninja -C "$folder" -n "$@" 2>/dev/null | grep -q '^ninja: no work to do'; then
  exit 0
fi
ninja -C "$folder" "$@"
