#!/usr/bin/env python3
"""Keys about time that only a running daemon shows: retention_days drops the files of old days and their points from all answers, and
flush_age_s writes a quiet memstore to files by itself."""
import sys
import time

from metakit import check, end
from tsdtest import Daemon

DAY = 86400
NOW = int(time.time())
OLD, NEW = NOW - 30 * DAY, NOW - 3600


def stat(d, metric):
    return sum(float(r["value"]) for r in d.api("/api/stats") if r["metric"] == metric)


def query(d, start, stop):
    rows = d.api("/api/query?start=%d&end=%d&m=none:old.m" % (start, stop))
    return sorted((r["tags"]["h"], len(r["dps"])) for r in rows)


def retention():
    with Daemon(workers=2, retention_days=0) as d:
        d.send("".join("put old.m %d %d h=old\n" % (OLD + i, i) for i in range(100)))
        d.sync()
        d.flush("files")
        d.send("".join("put old.m %d %d h=new\n" % (NEW + i, i) for i in range(100)))
        d.sync()
        d.flush("compact")
        check("without retention all is there", query(d, OLD - DAY, NOW), [("new", 100), ("old", 100)])
        points = stat(d, "tsd.storage.files.points")
        check("all points are in files", points, 200)
        d.keys["retention_days"] = 10
        d.restart()
        d.flush("compact")
        check("the old file is gone", stat(d, "tsd.storage.files.points"), 100)
        check("no answer has an old point", query(d, OLD - DAY, NOW), [("new", 100)])
        check("export has none", len(d.run("export", "old.m", "--port", str(d.port)).stdout.splitlines()), 100)
        d.keys["retention_days"] = 0
        d.restart()
        check("what was dropped does not come back", query(d, OLD - DAY, NOW), [("new", 100)])


def flush_age():
    with Daemon(workers=2, flush_age_s=1) as d:
        d.send("put old.m %d 1 h=a\n" % NEW)
        d.sync()
        until = time.monotonic() + 120
        while stat(d, "tsd.storage.files.points") < 1 and time.monotonic() < until:
            time.sleep(0.1)
        check("a quiet memstore is flushed by its age", stat(d, "tsd.storage.files.points"), 1)
    with Daemon(workers=2, flush_age_s=86400) as d:
        d.send("put old.m %d 1 h=a\n" % NEW)
        d.sync()
        time.sleep(3)
        check("but not before", stat(d, "tsd.storage.files.points"), 0)


def main():
    retention()
    flush_age()
    return end("old_points")


if __name__ == "__main__":
    sys.exit(main())
