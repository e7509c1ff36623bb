#!/usr/bin/env bash
# Runs tests of a built preset and says what they come to. Exits non-zero when one failed or none passed.
#
# usage: tools/run_tests.sh PRESET [ctest options]
#   HEARTH_RESULTS=FILE   where ctest's result file goes (default build/PRESET/results.xml)
#   HEARTH_JOBS=N         how many tests run at once (default 2)
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
folder=build/$preset
results=${HEARTH_RESULTS:-$PWD/$folder/results.xml}
log=$folder/ctest.log
rm -f "$results"

code=0
options=(--test-dir "$folder" -j "${HEARTH_JOBS:-2}" --output-on-failure --no-tests=error --output-junit "$results")
if [ -t 1 ]; then
  # One line that counts up, then the failures and the closing lines.
  ctest "${options[@]}" --progress "$@" || code=$?
else
  ctest "${options[@]}" "$@" >"$log" 2>&1 || code=$?
  # Failures with their output, and the closing lines; the rest is in the log.
  if [ "$code" != 0 ]; then cat "$log"; else sed -n '/ tests passed, /,$p' "$log"; fi
fi
summary=0
tools/ctest_summary.py "$results" || summary=1
[ "$code" = 0 ] && [ "$summary" = 0 ]
