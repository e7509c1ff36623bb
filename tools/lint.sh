#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy, over every source file of src/ or those named.
#
# usage: tools/lint.sh [FILE...]
set -euo pipefail
cd "$(dirname "$0")/.."
clang_tidy=$(tools/dev_tool.sh clang-tidy)
# The compile commands, and the headers that the build generates.
tools/build.sh dev
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(git ls-files 'src/*.cc')
printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "$(nproc)" "$clang_tidy" -p build/dev --quiet
