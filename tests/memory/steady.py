#!/usr/bin/env python3
"""Steady mixed load on a real daemon: does its memory grow?

    steady.py                           a fixed number of steps: what ctest runs
    steady.py --minutes N [--rate N]    e.g. nice steady.py --minutes 60

Lines, HTTP puts, queries, suggestions, flushes and new connections, the same in each step, the same series throughout.
Without --minutes: after a warm-up, four equal rounds, each ended by a flush; resident memory may grow by 200 bytes a line (a leak of one
small object a line is noticed). With --minutes the resident memory is printed over time, and a straight line through the second half of
the samples must not climb by more than 8 % and 8 MiB within that half.
"""
import argparse
import json
import os
import random
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from tsdtest import Daemon  # noqa: E402

MIB = 1 << 20
SERIES = 400
BASE = 1700000000


def resident(daemon):
    with open("/proc/%d/statm" % daemon.proc.pid) as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Load:
    def __init__(self, daemon, rate):
        self.d, self.rate, self.k, self.rng = daemon, rate, 0, random.Random(3)

    def lines(self):
        """Mostly in order, one in twenty late; the clock of the points runs ten times as fast as ours."""
        out = []
        for _ in range(self.rate):
            t = BASE + self.k // SERIES * 10 - (self.rng.randrange(7200) if self.k % 20 == 0 else 0)
            out.append("put steady.lines %d %d host=h%d dc=d%d\n" % (t, self.k * 7919 % 100003, self.k % SERIES, self.k % 3))
            self.k += 1
        self.d.send("".join(out))
        self.d.sync()

    def put(self):
        t = BASE + self.k // SERIES * 10
        body = [{"metric": "steady.http", "timestamp": t + i, "value": i * 0.25, "tags": {"host": "h%d" % (i % 20)}} for i in range(200)]
        req = urllib.request.Request("http://127.0.0.1:%d/api/put" % self.d.port, json.dumps(body).encode(), {"Content-Type": "application/json"})
        urllib.request.urlopen(req, timeout=300).read()

    def ask(self):
        now = BASE + self.k // SERIES * 10
        for q in ("start=%d&end=%d&m=sum:1m-avg:steady.lines%%7Bdc=*%%7D" % (now - 3600, now), "start=%d&end=%d&m=p95:steady.http" % (now - 600, now),
                  "start=%d&end=%d&m=sum:rate:steady.lines%%7Bhost=h%d%%7D" % (now - 1800, now, self.rng.randrange(SERIES))):
            self.d.http("/api/query?" + q)
        self.d.http("/api/suggest?type=tagv&q=h&max=50")
        self.d.http("/api/stats")

    def step(self, i):
        self.lines()
        self.put()
        if i % 2 == 0:
            self.ask()
        if i % 5 == 0:
            self.d.conn.close()
            self.d.conn = None
        if i % 30 == 29:
            self.d.flush("files")


def slope(samples):
    """Growth over the samples by least squares, bytes."""
    n = len(samples)
    mx, my = sum(t for t, _ in samples) / n, sum(v for _, v in samples) / n
    den = sum((t - mx) ** 2 for t, _ in samples)
    return sum((t - mx) * (v - my) for t, v in samples) / den * (samples[-1][0] - samples[0][0]) if den else 0


ROUND_STEPS = 10
ROUNDS = 4
LINE_BYTES = 200


def count(d, rate):
    """Growth of the resident memory a line, over rounds of equal steps. An error text or None."""
    load, seen = Load(d, rate), []
    for r in range(ROUNDS + 2):
        for i in range(ROUND_STEPS):
            load.step(r * ROUND_STEPS + i)
        d.flush("files")
        seen.append((load.k, resident(d)))
        print("%7d lines  %4.1f MiB" % (load.k, seen[-1][1] / MIB), flush=True)
    (k0, b0), (k1, b1) = seen[1], seen[-1]  # the first two rounds fill caches and buffers
    grown = (b1 - b0) / (k1 - k0)
    print("grown by %.1f bytes a line, allowed %d" % (grown, LINE_BYTES))
    return "steady: memory grows with each line" if grown > LINE_BYTES else None


def climb(d, rate, seconds):
    """Slope of the resident memory over time. An error text or None."""
    load, began, samples, i, shown = Load(d, rate), time.monotonic(), [], 0, 0
    while time.monotonic() - began < seconds:
        at = time.monotonic()
        load.step(i)
        i += 1
        samples.append((time.monotonic() - began, resident(d)))
        if samples[-1][0] >= shown:
            print("%5d s  %7d lines  %4d MiB" % (samples[-1][0], load.k, samples[-1][1] // MIB), flush=True)
            shown += max(30, seconds / 30)
        time.sleep(max(0, 0.5 - (time.monotonic() - at)))
    half = samples[len(samples) // 2:]
    growth, mean = slope(half), sum(v for _, v in half) / len(half)
    allowed = max(0.08 * mean, 8 * MIB)
    print("%d steps in %d s, %d lines: %.1f MiB on average in the second half, grown by %.1f MiB, allowed %.1f MiB" %
          (i, seconds, load.k, mean / MIB, growth / MIB, allowed / MIB))
    return "steady: memory grows" if growth > allowed else None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--minutes", type=float)
    ap.add_argument("--rate", type=int, default=4000, help="lines a step; with --minutes a step takes at least half a second")
    a = ap.parse_args()
    with Daemon(workers=2, memstore_bytes="4M", series_cache_bytes="4M", retention_days=0) as d:
        wrong = climb(d, a.rate, a.minutes * 60) if a.minutes else count(d, a.rate)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
