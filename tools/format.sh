#!/usr/bin/env bash
# Checks or mends the layout of every C++ and Rust file that git tracks or would track.
#
# usage: tools/format.sh check|fix
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-}
case $mode in
  check) cpp=(--dry-run --Werror) rust=(--check) ;;
  fix) cpp=(-i) rust=() ;;
  *) echo "usage: tools/format.sh check|fix" >&2; exit 2 ;;
esac
clang_format=$(tools/dev_tool.sh clang-format)
bad=0

files() { git ls-files -z --cached --others --exclude-standard -- "$@"; }

# Small batches, so that every core has work.
said=$(mktemp)
trap 'rm -f "$said"' EXIT
if ! files '*.h' '*.cc' | xargs -0 -r -n 16 -P "$(nproc)" "$clang_format" "${cpp[@]}" >"$said" 2>&1; then
  bad=1
  # The names are enough: the mending is automatic.
  sed -nE 's/^([^ :]+):[0-9]+:[0-9]+: error: code should be clang-formatted.*/\1/p' "$said" | sort -u >&2
  grep -vE 'clang-formatted|^ *\^|^ ' "$said" | grep -E 'rror' >&2 || true
fi
while IFS= read -r -d '' manifest; do
  if ! cargo fmt --version >/dev/null 2>&1; then
    echo "format: rustfmt is missing; run 'rustup component add rustfmt' or install rustfmt-web" >&2
    exit 1
  fi
  cargo fmt --manifest-path "$manifest" --quiet -- "${rust[@]}" || bad=1
done < <(files 'rust/*/Cargo.toml')

if [ "$bad" != 0 ]; then
  echo "format: some files are not formatted; run 'make format'" >&2
  exit 1
fi
