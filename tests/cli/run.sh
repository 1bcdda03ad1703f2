#!/bin/sh
# Run cases of the command line: tests/cli/run.sh [--accept] [CASE...]    without CASE: all
# A case is CASE.sh; what it prints (both streams) must be CASE.out. --accept writes CASE.out anew: read the difference.
# Cases run in an empty folder with the functions of lib.sh; TSD names the program (default build/dev/tsd).
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
TSD=${TSD:-$root/build/dev/tsd}
export TSD here root
[ -x "$TSD" ] || { echo "run.sh: no program $TSD; build it or set TSD" >&2; exit 2; }
accept=no
[ "${1:-}" = --accept ] && { accept=yes; shift; }
[ $# -gt 0 ] || set -- $(cd "$here" && ls ./*-*.sh | sed 's|^\./||; s|\.sh$||')
bad=0
for name in "$@"; do
    dir=$(mktemp -d)
    (cd "$dir" && env -u TSD_PORT sh -u -c '. "$here/lib.sh"; . "$here/$1.sh"; stop_all' case "$name") >"$dir.got" 2>&1
    if [ $accept = yes ]; then
        cp "$dir.got" "$here/$name.out"
    elif ! diff -u "$here/$name.out" "$dir.got"; then
        echo "FAILED $name"
        bad=1
    fi
    rm -rf "$dir" "$dir.got"
done
exit $bad
