#!/usr/bin/env python3
"""Totals of many series while they have their points, and when summaries of hours and days are all that is left of these (tsd retention add ... hours= days=).

Prints name=value lines. Answers of the three states are compared. Times are the shortest of REPEATS, elapsed, and the processor time that the daemon took for it.

usage: aged_rate.py [--series N] [--days N] [--points N] [--wait]"""
import argparse
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
from tsdtest import Daemon  # noqa: E402

DAY, HOUR, REPEATS = 86400, 3600, 5
NOW = int(time.time()) // HOUR * HOUR
TODAY = NOW // DAY * DAY
QUERIES = {"sum_by_month": "m=sum:web.hits&by=month", "sum_1dc": "m=sum:1dc-sum:web.hits", "count_by_day": "m=count:web.hits&by=day",
           "one_series_by_day": "m=sum:web.hits{domain=d7}&by=day"}


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--series", type=int, default=4000)
    p.add_argument("--days", type=int, default=60)
    p.add_argument("--points", type=int, default=2, help="of a series and day, at most 24")
    p.add_argument("--wait", action="store_true", help="wait at the end, for a profiler")
    return p.parse_args()


def load(d, opt):
    """Points of whole days, the last of which ended more than 10 days ago; and one of now, so that no series is forgotten."""
    for day in range(opt.days):
        start = TODAY - (opt.days + 11 - day) * DAY
        for k in range(opt.points):
            stamp = start + (k * 24 // opt.points) * HOUR
            d.send("".join("put web.hits %d %d domain=d%d\n" % (stamp, (i * 31 + day * 17 + k) % 997, i) for i in range(opt.series)))
        d.sync()
    d.send("".join("put web.hits %d 1 domain=d%d\n" % (NOW - 60, i) for i in range(opt.series)))
    d.sync()
    d.flush("compact")


def processor_s(d):
    with open("/proc/%d/stat" % d.proc.pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(d, opt, state):
    answers = {}
    for name, query in QUERIES.items():
        path = "/api/query?start=%d&end=%d&%s" % (TODAY - (opt.days + 12) * DAY, NOW, query)
        took, used = [], processor_s(d)
        for _ in range(REPEATS):
            t = time.monotonic()
            answers[name] = d.api(path)
            took.append((time.monotonic() - t) * 1e3)
        for row in answers[name]:
            row.pop("queryMs", None)
        print("%s: %s_ms=%.1f processor_ms=%.0f" % (state, name, min(took), (processor_s(d) - used) / REPEATS * 1e3), flush=True)
    return answers


def rule(d, words, old=None):
    for what, text in (("remove", old), ("add", words)):
        if text:
            d.run("retention", what, "web.*", *text, "--port", str(d.port))
    t = time.monotonic()
    for _ in range(3):
        d.flush("compact")
    print("passes_s=%.1f" % (time.monotonic() - t), flush=True)


def main():
    opt = arguments()
    with Daemon(workers=2, timezone="UTC") as d:
        load(d, opt)
        print("series=%d days=%d points_a_day=%d load_average=%.2f" % (opt.series, opt.days, opt.points, os.getloadavg()[0]), flush=True)
        points = measure(d, opt, "points")
        rule(d, ["points=10d", "hours=900d"])
        hours = measure(d, opt, "hours")
        rule(d, ["points=10d", "hours=10d1h", "days=900d"], ["points=10d", "hours=900d"])
        days = measure(d, opt, "days")
        print("same_answers=%s load_average=%.2f" % (points == hours == days, os.getloadavg()[0]), flush=True)
        if opt.wait:
            input("pid %d, port %d " % (d.proc.pid, d.port))


main()
