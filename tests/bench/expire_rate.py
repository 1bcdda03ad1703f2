#!/usr/bin/env python3
"""Expiry of half of a store while it takes points: how long queries and syncs take before it and while it goes on, how soon the space is free, and whether
all that has not expired is there. Prints name=value lines; times are p99.9, counted from when a query or a sync was due.

The store gets POINTS points, in days of equal size; then a rule of retention, or with --max-bytes a limit of half of its bytes, removes the older half
while a client puts --rate points a second. The space is free when less than 6 % of it is left to free: less than a quarter of a file that reaches over the
cutoff may stay, and so may a part of its last day. TMPDIR has room for 10 bytes a point and for the input. Every figure above 10 ms may be the scheduler's: compare
the three phases, and run it on a machine that does nothing else.

usage: expire_rate.py [POINTS] [--rate N] [--series N] [--days N] [--max-bytes] [--compact] [--seconds N]"""
import argparse
import multiprocessing
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
from tsdtest import Daemon  # noqa: E402

DAY = 86400
NOW = int(time.time())
BLOBS = 8


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("points", nargs="?", type=int, default=20000000)
    p.add_argument("--rate", type=int, default=1000000)
    p.add_argument("--series", type=int, default=10000)
    p.add_argument("--days", type=int, default=40)
    p.add_argument("--seconds", type=int, default=60, help="of each phase")
    p.add_argument("--max-bytes", action="store_true")
    p.add_argument("--compact", action="store_true", help="merge everything before")
    return p.parse_args()


def heads_of(n):
    return ["put cpu.m%d " % (i % 10) for i in range(n)], [" host=h%d cpu=%d\n" % (i // 10, i % 10) for i in range(n)]


class Clock(threading.Thread):
    """Does something at a fixed rate, each time on the clock and not after the one before, so that a stall shows in all that it holds up."""

    def __init__(self, per_s, what):
        super().__init__()
        self.per_s, self.what, self.ms, self.end = per_s, what, [], threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.join()

    def run(self):
        due = time.monotonic()
        while not self.end.is_set():
            time.sleep(max(0, due - time.monotonic()))
            self.what()
            self.ms.append((time.monotonic() - due) * 1e3)
            due += 1 / self.per_s

    def percentile(self, p):
        v = sorted(self.ms)
        return v[min(len(v) - 1, int(len(v) * p / 100))]


def load(d, opt):
    """The points of the store, evenly over its days, with the newest day ending two hours ago."""
    rnd = random.Random(1)
    heads, tails = heads_of(opt.series)
    values = [str(rnd.randrange(1000000)) for _ in range(opt.series * 3)]
    n_steps = max(opt.days, opt.points // opt.series)
    for step in range(n_steps):
        stamp = "%d " % (NOW - 7200 - opt.days * DAY + int(step * opt.days * DAY / n_steps))
        at = rnd.randrange(opt.series * 2)
        d.send("".join([h + stamp + v + t for h, v, t in zip(heads, values[at:at + opt.series], tails)]))
        if step % 200 == 199:
            d.sync()
    d.sync()
    d.flush("compact" if opt.compact else "files")
    return n_steps * opt.series


class Writer(multiprocessing.get_context("fork").Process):
    """Puts so many points a second; what it puts is overwritten by later rounds. A process of its own, so that it does not hold up the threads that measure."""

    def __init__(self, d, opt):
        super().__init__()
        heads, tails = heads_of(opt.series)
        per_blob = max(1, opt.rate // 10 // opt.series)
        self.blobs = ["".join(["%s%d %d%s" % (h, NOW - 600 + b * per_blob + k, b * 7 + k, t) for k in range(per_blob) for h, t in zip(heads, tails)]).encode()
                      for b in range(BLOBS)]
        self.per_s = opt.rate / (per_blob * opt.series)
        self.n_each, self.sock = per_blob * opt.series, d.connect()
        self.n, self.end = multiprocessing.Value("q", 0), multiprocessing.Event()

    def run(self):
        due, k = time.monotonic(), 0
        while not self.end.is_set():
            time.sleep(max(0, due - time.monotonic()))
            self.sock.sendall(self.blobs[k % BLOBS])
            self.n.value, k, due = self.n.value + self.n_each, k + 1, max(due + 1 / self.per_s, time.monotonic() - 1)


def left_bytes(d, opt):
    """What has expired and takes space still, an estimate; with a limit: what is above it."""
    r = d.api("/api/retention?explain=true")
    if opt.max_bytes:
        return max(0, r["limit"]["bytes"] - r["limit"]["maxBytes"])
    return sum(rule["expiredBytes"] for rule in r["rules"])


def files_bytes(d):
    return sum(float(r["value"]) for r in d.api("/api/stats") if r["metric"] == "tsd.storage.files.bytes")


def phase(d, name, seconds, sync, start=None, done=None):
    """Queries and syncs for some seconds; at least until done() says so. Returns seconds until then."""
    url = "/api/query?start=%d&end=%d&m=sum:1m-avg:cpu.m1{host=h7}" % (NOW - 7200 - DAY, NOW)
    freed = None
    with Clock(20, lambda: d.http(url)) as queries, Clock(10, sync) as syncs:
        began = time.monotonic()
        if start:
            start()
        while time.monotonic() - began < seconds or (done and freed is None):
            time.sleep(0.5)
            if done and freed is None and done():
                freed = time.monotonic() - began
            if time.monotonic() - began > 10 * seconds:
                break
    print("%s: query_p50_ms=%.1f query_p999_ms=%.1f query_max_ms=%.1f queries=%d sync_p50_ms=%.1f sync_p999_ms=%.1f sync_max_ms=%.1f syncs=%d"
          % (name, queries.percentile(50), queries.percentile(99.9), max(queries.ms), len(queries.ms), syncs.percentile(50), syncs.percentile(99.9),
             max(syncs.ms), len(syncs.ms)), flush=True)
    return freed


def n_points(d, from_s):
    """Points by day from a time on, of what was loaded."""
    rows = d.api("/api/query?start=%d&end=%d&m=sum:1d-count:cpu.m1" % (from_s, NOW - 7200 - 2 * DAY))
    return sum(sum(r["dps"].values()) for r in rows)


def main():
    opt = arguments()
    small = {"memstore_bytes": "1M", "reserve_bytes": 0} if opt.max_bytes else {}  # the limit must have room for the log of twice as much
    with Daemon(workers=2, max_bytes_grace_s=0, **small) as d:
        n = load(d, opt)
        half = NOW - 7200 - opt.days * DAY // 2
        bytes_before, newer = files_bytes(d), n_points(d, half + DAY)
        print("points=%d file_bytes=%d rate=%d load_average=%.2f" % (n, bytes_before, opt.rate, os.getloadavg()[0]), flush=True)
        s = d.connect()
        reader = s.makefile("rb")

        def sync():
            s.sendall(b"put sync.probe %d 1 h=a\nsync\n" % int(time.time()))
            reader.readline()

        def start():
            if opt.max_bytes:
                d.run("retention", "max-bytes", str(int(bytes_before / 2)), "--port", str(d.port))
            else:
                d.run("retention", "add", "*", "points=%dh" % ((NOW - half) // 3600), "--port", str(d.port))

        writer = Writer(d, opt)
        writer.start()
        phase(d, "before", opt.seconds, sync)
        freed = phase(d, "expiry", opt.seconds, sync, start, lambda: left_bytes(d, opt) < bytes_before * 0.06)
        phase(d, "after", opt.seconds, sync)
        writer.end.set()
        writer.join()
        writer.sock.close()
        s.close()
        print("freed_s=%s written=%d file_bytes=%d newer_before=%d newer_after=%d load_average=%.2f"
              % ("%.1f" % freed if freed is not None else "never", writer.n.value, files_bytes(d), newer, n_points(d, half + DAY), os.getloadavg()[0]), flush=True)


main()
