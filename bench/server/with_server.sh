#!/usr/bin/env bash
# with_server.sh HEARTH MODEL BENCH [ARGS...]: serves the model on a port of the system's choice, runs the load client
# against it, and ends the server. Exit code: the client's, or 1 when the server did not end with 0.
set -euo pipefail
hearth=$1
model=$2
bench=$3
shift 3

log=$(mktemp)
server=
finish() {
  [ -z "$server" ] || kill -9 "$server" 2>/dev/null || true
  rm -f "$log"
}
trap finish EXIT

"$hearth" serve "$model" --port 0 2>"$log" &
server=$!
until grep -q ': ready$' "$log"; do
  if ! kill -0 "$server" 2>/dev/null; then
    cat "$log" >&2
    exit 1
  fi
  sleep 0.1
done
url=$(sed -n 's/^hearth: \(http.*\): ready$/\1/p' "$log")

code=0
"$bench" "$url" --pid "$server" --hearth "$hearth" --model "$model" "$@" || code=$?
kill -TERM "$server"
ended=0
wait "$server" || ended=$?
server=
if [ "$ended" != 0 ]; then
  echo "the server ended with $ended" >&2
  cat "$log" >&2
  code=1
fi
exit "$code"
