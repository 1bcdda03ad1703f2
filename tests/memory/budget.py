#!/usr/bin/env python3
"""A daemon with small budgets under a flood of new series and of points out of order: its resident memory stays below what its keys
say, and everything it took is there.

    budget.py [--series N] [--points N]
"""
import argparse
import http.client
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


def status_of(d, path):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request("GET", path)
    r = c.getresponse()
    while r.read(1 << 20):
        pass
    c.close()
    return r.status


def queries():
    """Queries that need much more than their limit, and some that fit: resident memory keeps to the factor."""
    limit = 64 * MIB
    with Daemon(workers=2, query_max_bytes=limit, query_timeout_ms=0, query_max_running=1) as d:
        lines = ["put q.long %d %d host=a\n" % (BASE + i, i) for i in range(200000)]
        lines += ["put q.cpu %d %d host=h%05d cpu=%d\n" % (BASE + k * 7200, k, h, c) for c in range(4) for h in range(3000) for k in range(3)]
        send_all(d, lines)
        d.flush("files")
        big = ("start=%d&end=%d&m=sum:1s-avg-zero:q.long" % (BASE, BASE + 16000000),
               "start=%d&end=%d&m=p99:1s-avg-zero:q.long" % (BASE, BASE + 3000000),
               "start=1970/01/01&end=3800/01/01&by=hour&fill=zero&m=sum:q.long")
        small = ("start=%d&end=%d&m=p99:q.long&by=" % (BASE, BASE + 400000), "start=%d&end=%d&m=none:q.cpu" % (BASE, BASE + 86400),
                 "start=%d&end=%d&m=sum:1m-avg:q.cpu%%7Bhost=*%%7D" % (BASE, BASE + 86400))
        status_of(d, "/api/query?" + small[0])
        idle = resident(d)
        for text, fits in [(t, False) for t in big] + [(t, True) for t in small]:
            watch = Watch(d)
            watch.start()
            status = status_of(d, "/api/query?" + text)
            watch.over = True
            watch.join()
            print("%-60s %s, %d MiB above idle" % (text[-60:], status, (watch.high - idle) // MIB))
            if status != (200 if fits else 413):
                sys.exit("budget: %s: status %s" % (text, status))
            if watch.high - idle > limit * 5 // 4 + 8 * MIB:
                sys.exit("budget: %s: %d MiB above idle, query_max_bytes is %d MiB" % (text, (watch.high - idle) // MIB, limit // MIB))


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
    queries()


if __name__ == "__main__":
    main()
