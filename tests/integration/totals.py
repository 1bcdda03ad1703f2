#!/usr/bin/env python3
"""Totals of web logs by day, hour, domain and all pairs equal a plain count over the log.

    totals.py [LOG...]      .log: Apache/nginx combined; .tsv: NASA's tab-separated trace; plain, .gz or .zst

The same digits must come from memory, files, merged files, after a restart, and with 1, 2 and 7 workers. Several connections send
the lines out of order. Exit 0: all equal.
"""
import collections
import datetime
import itertools
import os
import random
import re
import subprocess
import sys

from tsdtest import Daemon, ROOT

UTC = datetime.timezone.utc
COMBINED = re.compile(r'^(\S+) \S+ \S+ \[([^\]]+)\] "([^"]*)" (\d+) (\S+)(?: "([^"]*)")?')


def lines_of(path):
    tool = {".gz": ["gzip", "-dc"], ".zst": ["zstd", "-dc"]}.get(os.path.splitext(path)[1], ["cat"])
    return subprocess.run([*tool, path], stdout=subprocess.PIPE, check=True).stdout.decode("utf-8", "replace").split("\n")


def host_of(url):
    m = re.match(r"^[a-z]+://([^/:?#]+)", url, re.I)
    return m.group(1).lower() if m else "none"


def clean(s):
    return re.sub(r"[^A-Za-z0-9._-]", "_", s) or "none"


def hits(path):
    """(second, domain, status) of every request of a log."""
    if ".tsv" in path:
        rows = [l.split("\t") for l in lines_of(path) if l]
        col = {name: i for i, name in enumerate(rows[0])}
        for r in rows[1:]:
            if len(r) > col["response"] and r[col["time"]].isdigit():
                yield int(r[col["time"]]), clean(".".join(r[col["host"]].lower().split(".")[-2:])), clean(r[col["response"]])
    else:
        for line in lines_of(path):
            m = COMBINED.match(line)
            if m:
                t = datetime.datetime.strptime(m.group(2), "%d/%b/%Y:%H:%M:%S %z").timestamp()
                yield int(t), clean(host_of(m.group(6) or "")), m.group(4)


def expected(points, by):
    """The plain count: rows as the CSV must show them."""
    n = collections.Counter()
    for (t, domain, status), k in points.items():
        at = datetime.datetime.fromtimestamp(t, UTC)
        row = ()
        if "day" in by or "hour" in by:
            row += (at.strftime("%Y-%m-%d"),)
        if "hour" in by:
            row += (at.strftime("%H"),)
        row += tuple({"domain": domain, "status": status}[k] for k in by if k not in ("day", "hour"))
        n[row] += k
    return [row + (str(k),) for row, k in sorted(n.items())]


def check(daemon, points, start, end, state):
    keys = ("day", "hour", "domain", "status")
    bad = 0
    for by in itertools.chain.from_iterable(itertools.combinations(keys, k) for k in (1, 2, 3, 4)):
        header, rows = daemon.query(start, end, "sum", "web.hits", "--by", ",".join(by))
        want = expected(points, by)
        if rows != want:
            bad += 1
            diff = [x for x in zip(rows, want) if x[0] != x[1]][:3]
            print("DIFFERENT %s by %s: %d rows, expected %d; %r" % (state, ",".join(by), len(rows), len(want), diff))
    return bad


def one_log(path):
    points = collections.Counter(hits(path))
    days = sorted(datetime.datetime.fromtimestamp(t, UTC).date() for t, _, _ in points)
    start, end = days[0].strftime("%Y/%m/%d"), days[-1].strftime("%Y/%m/%d")
    lines = ["put web.hits %d %d domain=%s status=%s\n" % (t, k, d, s) for (t, d, s), k in points.items()]
    random.Random(7).shuffle(lines)
    bad = 0
    with Daemon(workers=2) as d:
        conns = [d.connect() for _ in range(3)]
        for i, c in enumerate(conns):
            c.sendall("".join(lines[i::3]).encode())
            c.sendall(b"sync\n")
        for i, c in enumerate(conns):
            answer = c.recv(100).decode()
            if answer != "ok %d\n" % len(lines[i::3]):
                print("DIFFERENT answer to sync: %r, expected %d" % (answer, len(lines[i::3])))
                bad += 1
            c.close()
        bad += check(d, points, start, end, "in memory")
        d.flush("files")
        bad += check(d, points, start, end, "in files")
        d.flush("compact")
        bad += check(d, points, start, end, "merged")
        for workers in (1, 2, 7):
            d.restart(workers)
            bad += check(d, points, start, end, "restarted, %d workers" % workers)
    print("%s: %d requests, %d points, %s" % (os.path.basename(path), sum(points.values()), len(points), "equal" if not bad else "%d differences" % bad))
    return bad


def main():
    logs = sys.argv[1:] or [os.path.join(ROOT, "tests/data", f) for f in sorted(os.listdir(ROOT + "/tests/data")) if f.startswith("weblog") and not f.endswith(".md")]
    if not logs:
        sys.exit("no log to count")
    return 1 if sum(one_log(p) for p in logs) else 0


if __name__ == "__main__":
    sys.exit(main())
