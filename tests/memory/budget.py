#!/usr/bin/env python3
"""A daemon with small budgets under a flood of new series and of points out of order: its resident memory stays below what its keys
say, and everything it took is there.

    budget.py [--series N] [--points N]
"""
import argparse
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from tsdtest import Daemon  # noqa: E402

MIB = 1 << 20
SERIES_BYTES = 450      # of memory a series: catalog (docs: 190 and its names), memstore row, index; measured 2026-11
SLACK = 24 * MIB        # allocator, threads' stacks that are used, a flush and a merge under way, buffers of connections
BASE = 1700000000


def resident(daemon):
    with open("/proc/%d/status" % daemon.proc.pid) as f:
        for line in f:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    sys.exit("no VmRSS")


class Watch(threading.Thread):
    """Highest resident memory."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.tsd, self.high, self.over = daemon, 0, False

    def run(self):
        while not self.over:
            self.high = max(self.high, resident(self.tsd))
            time.sleep(0.02)


def send_all(daemon, lines):
    """Every block is confirmed before the next: a client that waits, as collectors do."""
    n = 0
    for at in range(0, len(lines), 20000):
        block = lines[at:at + 20000]
        daemon.send("".join(block))
        n += len(block)
        if daemon.sync() != n:
            sys.exit("budget: %d lines sent, fewer confirmed" % n)
    daemon.conn.close()
    daemon.conn = None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--series", type=int, default=30000)
    ap.add_argument("--points", type=int, default=120000)
    a = ap.parse_args()
    rng = random.Random(5)
    workers, memstore, cache, queue = 2, 2 * MIB, 1 * MIB, 1 * MIB
    with Daemon(workers=workers, memstore_bytes=memstore, series_cache_bytes=cache, queue_bytes=queue) as d:
        watch, idle = Watch(d), resident(d)
        watch.start()
        send_all(d, ["put flood.series %d 1 host=host%06d dc=d%d\n" % (BASE, i, i % 7) for i in range(a.series)])
        send_all(d, ["put flood.times %d %d host=h%d\n" % (BASE - rng.randrange(400 * 86400), i, i % 50) for i in range(a.points)])
        d.flush("compact")
        watch.over = True
        watch.join()
        budget = 9 * memstore // 4 + cache + workers * queue + a.series * SERIES_BYTES
        bound = idle + budget + SLACK
        print("idle %d MiB, highest %d MiB, budgets %d MiB, bound %d MiB" % (idle // MIB, watch.high // MIB, budget // MIB, bound // MIB))
        if watch.high > bound:
            sys.exit("budget: %d MiB resident, the keys say %d MiB" % (watch.high // MIB, bound // MIB))
        stats = {s["metric"]: int(s["value"]) for s in d.api("/api/stats")}
        cached = stats.get("tsd.ingest.cache_bytes", 0)
        if cached > cache:
            sys.exit("budget: series_cache_bytes is %d, used are %d" % (cache, cached))
        have = d.api("/api/query?start=%d&end=%d&m=count:0all-count:flood.series&arrays=true" % (BASE - 1, BASE + 10))
        if not have or have[0]["dps"][0][1] != a.series:
            sys.exit("budget: not all series are there: %r" % have)


if __name__ == "__main__":
    main()
