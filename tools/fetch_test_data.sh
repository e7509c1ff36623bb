#!/usr/bin/env bash
# Fetches what some tests need and the project does not hold: the default model, test assets, and the
# SDK that drives the server.
# Without a network this says so and succeeds; the tests that need the data are then skipped, and counted.
#
# usage: tools/fetch_test_data.sh
set -uo pipefail
cd "$(dirname "$0")/.."
complete=1
tools/fetch_model.py || complete=0
if [ -f tools/fetch_test_assets.py ]; then
  python3 tools/fetch_test_assets.py || complete=0
fi
tools/test_venv.sh || complete=0
[ "$complete" = 1 ] || echo "tests that need what is missing will be skipped" >&2
