#!/usr/bin/env bash
# Installs what tests/server/requirements.txt names into build/test-venv, unless it is there. The first time and after a
# change of that file this needs the network; without it the old folder stays out of use and the tests are skipped.
#
# usage: tools/test_venv.sh
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=tests/server/requirements.txt
venv=build/test-venv
stamp=$venv/requirements.txt  # written last: what the folder holds
cmp --silent "$wanted" "$stamp" && "$venv/bin/python3" -c '' 2>/dev/null && exit 0

echo "test_venv: installing the openai SDK into $venv" >&2
rm -rf "$venv"
mkdir -p build
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { python3 -m venv "$venv" && "$venv/bin/python3" -m pip install --disable-pip-version-check -r "$wanted"; } >"$log" 2>&1; then
  tail -n 3 "$log" >&2
  echo "test_venv: could not install $wanted; is there a network?" >&2
  exit 1
fi
cp "$wanted" "$stamp"
