#!/usr/bin/env python3
"""kill -9 at random moments while everything that changes a store as a whole is under way: replacements, bulk loads, compression, another number of
shards, rules of retention, kept totals, versions, and max_bytes, beside puts, numbered increments and queries.

    kill_changes.py [--rounds N] [--seed N] [--folder-rounds N] [--mode changes|space|shards]

Each actor has a metric of its own and knows what was acknowledged. After each kill: what was acknowledged is there and right, what was under way is there
as a whole or not at all, sums of numbered increments are those of a number of them between those confirmed and those sent, and exact once all are confirmed.
A third of the kills come while the daemon starts or ends. In the mode space max_bytes removes the oldest points. In the mode shards another number
of shards is wanted all the time, and most kills come within a change; the number of workers is mostly no power of two. Exit 0: all held.
"""
import argparse
import json
import os
import random
import shutil
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from changes import GONE, Admin, Bodies, Bulk, Counters, Filler, Limits, Puts, Reader, Replace, ReplaceFiles, Rules, Versions  # noqa: E402
from shards import Deletes, Shards, Watch  # noqa: E402
from tsdtest import Daemon  # noqa: E402

MEMORY = 256 << 20


class Folder:
    def __init__(self, rng, mode):
        self.d = Daemon(workers=2, memory_limit=MEMORY, memstore_bytes="1M" if mode == "changes" else "256k", wal_sync_interval_ms=20,
                        query_allow_delete="true", max_bytes_grace_s=0, reserve_bytes="64k", shards=8, compaction_memory_bytes="16M")
        s = lambda: rng.randrange(10**9)
        counters = [Counters(s(), 0), Counters(s(), 1), Bodies(s(), 2)]
        if mode == "space":
            self.actors = [Filler(s()), Limits(s())]
        elif mode == "shards":
            grows, bodies = rng.random() < 0.4, Bodies(s(), 2)
            if grows:
                self.d.keys["shards"] = 1
            else:
                counters, bodies.size = [bodies], 200      # a sequence adds to all shards, so that they may become fewer
            puts, self.shards = Puts(s()), Shards(s(), grows)
            self.actors = [puts, *counters, Deletes(s()), Bulk(s(), self.d.base), Replace(s()), self.shards, Watch(s(), puts, counters)]
        else:
            wholes = [Replace(s()), ReplaceFiles(s(), self.d.base), Bulk(s(), self.d.base)]
            self.actors = [Puts(s()), *counters, *wholes, Versions(s()), Rules(s()), Admin(s(), mode == "space"), Reader(s(), wholes)]
        self.shards = getattr(self, "shards", None)
        self.peak, self.workers = 0, [1, 2, 3, 5, 7] if mode == "shards" else [1, 2, 3]

    def memory(self):
        try:
            with open("/proc/%d/status" % self.d.proc.pid, encoding="ascii") as f:
                for line in f:
                    if line.startswith("VmHWM"):
                        self.peak = max(self.peak, int(line.split()[1]))
        except (OSError, AttributeError):
            pass

    def start_killed(self, rng):
        """The daemon is killed while it starts."""
        t = threading.Thread(target=self.d.start, args=(rng.choice(self.workers),), daemon=True)
        t.start()
        time.sleep(rng.random() ** 2 * 0.25)
        if self.d.proc:
            self.d.proc.kill()
        t.join(90)
        self.d.kill()

    def end_killed(self, rng):
        """The daemon is killed while it ends."""
        self.d.ending = True
        self.d.proc.send_signal(signal.SIGTERM)
        time.sleep(rng.random() ** 2 * 0.4)

    def within_change(self, rng):
        """Wait until a change is at work, and then for less than it takes."""
        until = time.monotonic() + 5
        while time.monotonic() < until:
            try:
                if not self.shards.want():
                    break
            except GONE:
                break
            time.sleep(0.002)
        time.sleep(rng.random() ** 2 * 0.06)

    def round(self, rng):
        d = self.d
        d.ending = False
        d.keys["wal_sync"] = rng.choice(["always", "interval", "interval"])
        d.start(rng.choice(self.workers))
        for a in self.actors:
            a.begin(d)
        time.sleep(0.1 + rng.random() ** 2 * 2.5)
        how = rng.choice(["work", "work", "work", "end", "start"])
        if how == "end":
            self.end_killed(rng)
        elif how == "work" and self.shards:
            self.within_change(rng)
        self.memory()
        d.kill()
        for a in self.actors:
            a.thread.join(250)
            if a.thread.is_alive():
                a.bad("the client hangs")
        kills = 1
        while how == "start":
            self.start_killed(rng)
            kills += 1
            if rng.random() < 0.5:
                break
        return kills

    def check(self, rng, last):
        d = self.d
        d.start(rng.choice(self.workers))
        for a in self.actors:
            a.d = d
            a.check(last)
        if last:
            d.flush("compact")
            for a in self.actors:
                a.check(False)
        self.memory()
        if self.peak > MEMORY >> 10 and not os.environ.get("TEST_SANITIZE"):  # sanitizers keep freed memory
            self.actors[0].bad("the process used %d KiB, memory_limit is %d", self.peak, MEMORY >> 10)
        failed = [(type(a).__name__, p) for a in self.actors for p in a.problems]
        for name, problem in failed:
            print("DIFFERENT: %s: %.1500s" % (name, problem), flush=True)
        if rng.random() < 0.5:
            d.stop()
        else:
            d.kill()
        return failed


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=10)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--folder-rounds", type=int, default=12, help="kills of a folder before a new one is begun")
    ap.add_argument("--mode", choices=["changes", "space", "shards"], default="changes")
    a = ap.parse_args()
    rng, folder, kills, done, peak = random.Random(a.seed), None, 0, {}, 0
    print("seed %d, %d rounds, %s" % (a.seed, a.rounds, a.mode), flush=True)
    for i in range(1, a.rounds + 1):
        folder = folder or Folder(rng, a.mode)
        kills += folder.round(rng)
        last = i % a.folder_rounds == 0 or i == a.rounds
        if folder.check(rng, last):
            print("round %d of %d, kill %d, data kept in %s" % (i, a.rounds, kills, folder.d.data), flush=True)
            os._exit(1)
        if last:
            peak = max(peak, folder.peak)
            for x in folder.actors:
                done[type(x).__name__] = done.get(type(x).__name__, 0) + x.n
            shutil.rmtree(folder.d.base, True)
            folder = None
    print("%d kills; %s; at most %d KiB of memory: nothing confirmed lost, nothing done in half" % (kills, json.dumps(done), peak))
    return 0


if __name__ == "__main__":
    sys.exit(main())
