#!/usr/bin/env bash
# keep_log.sh COMPILER ARGS -o OBJECT ...: compiles, and keeps what was said in OBJECT.log; says what is no mere
# information.
set -euo pipefail
object= previous=
for argument in "$@"; do
  [ "$previous" != -o ] || object="$argument"
  previous="$argument"
done
status=0
"$@" >"$object.log" 2>&1 || status=$?
if [ $status != 0 ]; then
  cat "$object.log" >&2
else
  grep -v -e '^ptxas info' -e 'bytes stack frame' "$object.log" >&2 || true
fi
exit $status
