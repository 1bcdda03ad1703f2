#!/bin/sh
# Tests that need a real HBase: starts one, runs them, stops it.   tests/hbase/run.sh BUILD-FOLDER    (called by ./check --hbase)
# Every one must pass; none is skipped.
set -u
cd "$(dirname "$0")/../.."
build=$1
export HBASE_THRIFT_PORT="${HBASE_THRIFT_PORT:-19290}"
export TSD="$PWD/$build/tsd" PYTHONDONTWRITEBYTECODE=1
failed=""
trap 'tests/hbase/hbase.sh stop' EXIT
trap 'exit 1' INT TERM
tests/hbase/hbase.sh start || exit 1

# NAME COMMAND...: one test, with the address of the gateway in TSD_HBASE_GATEWAY, at most ten minutes
try() {
    name=$1 began=$(date +%s)
    shift
    if TSD_HBASE_GATEWAY=127.0.0.1:$HBASE_THRIFT_PORT timeout -k 10 600 "$@" >"build/hbase-$name.log" 2>&1; then
        echo "hbase: $name passed in $(($(date +%s) - began)) s"
    else
        echo "hbase: $name FAILED, the end of build/hbase-$name.log:"
        tail -n 40 "build/hbase-$name.log"
        failed="$failed $name"
    fi
}
for live in tests/hbase/*_live.c; do
    name=$(basename "$live" .c)
    try "$name" "$build/tests/$name"
done
try tables "$build/tests/test_remote_tables"
try queries "$build/tests/run_queries" --hbase $(ls tests/queries/*.qt | grep -v /local_)
try daemon python3 tests/integration/hbase.py
try copy python3 tests/integration/hbase_copy.py
try daemon-histograms python3 tests/integration/hbase_histograms.py
try daemon-rollups python3 tests/integration/hbase_rollups.py
try fsck python3 tests/integration/hbase_fsck.py
try daemon-reading python3 tests/integration/hbase_reading.py
try golden python3 tests/integration/golden.py --hbase
try golden-empty python3 tests/integration/golden.py --hbase --empty
try two-writers python3 tests/integration/hbase_writers.py --seed "$(date +%j)"
try daemon-sole python3 tests/integration/hbase_sole.py
try daemon-counters python3 tests/integration/counters_once.py
try daemon-meta python3 tests/integration/hbase_meta.py
[ -z "$failed" ] || { echo "hbase: failed:$failed" >&2; exit 1; }
