#!/usr/bin/env python3
"""The long tier of kill.py: every kind of fault over a real HBase, one after the other, each with an HBase of its own.

    TSD=build/release/tsd tests/hbase/kill_tier.py [--rounds 10] [--points 20000000] [--seed N] [--kinds hbase,tsd,...] [--logs build] [--again]

Rounds and points are those of one kind. Each kind has a log, LOGS/kill-KIND.log. A kind whose log says that it passed with these rounds and at least these points is not run again, so that
an interrupted run continues where it stopped; --again runs it all the same. One line a kind is printed; exit 0: all passed. `tests/hbase/hbase.sh fetch` comes first.
"""
import argparse
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kill import HERE, KINDS  # noqa: E402


def summary(path):
    """The last line of a log if it says that the kind passed; and its first line."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            lines = f.read().splitlines()
    except OSError:
        return None, None
    return (lines[-1], lines[0]) if lines and lines[-1].startswith("passed: ") else (None, None)


def passed_before(path, rounds, points):
    line, head = summary(path)
    if not line:
        return None
    # kind K, seed S, R rounds, P points
    words = head.replace(",", "").split()
    return line if (int(words[4]), int(words[6])) >= (rounds, points) and int(words[6]) >= points else None


def run(kind, a, path):
    """The line that sums up a kind."""
    began = time.monotonic()
    with open(path, "wb") as log:
        p = subprocess.run([sys.executable, HERE + "/kill.py", "--own", "--kind", kind, "--rounds", str(a.rounds), "--points", str(a.points), "--seed", str(a.seed)],
                           stdout=log, stderr=subprocess.STDOUT)
    line, _ = summary(path)
    if p.returncode == 0 and line:
        return True, line
    return False, "FAILED: kind %s ended with %d after %d s, see %s" % (kind, p.returncode, time.monotonic() - began, path)


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("--rounds", type=int, default=10)
    ap.add_argument("--points", type=int, default=20000000)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--kinds", default=",".join(KINDS))
    ap.add_argument("--logs", default="build")
    ap.add_argument("--again", action="store_true")
    a = ap.parse_args()
    kinds = a.kinds.split(",")
    if unknown := set(kinds) - set(KINDS):
        ap.error("unknown kinds: %s; there are %s" % (", ".join(sorted(unknown)), ", ".join(KINDS)))
    os.makedirs(a.logs, exist_ok=True)
    failed = 0
    for kind in kinds:
        path = os.path.join(a.logs, "kill-%s.log" % kind)
        before = None if a.again else passed_before(path, a.rounds, a.points)
        ok, line = (True, "before, " + before) if before else run(kind, a, path)
        print(line, flush=True)
        failed += not ok
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
