#!/usr/bin/env python3
"""tsd import --bulk against tsd import, in one run: the same put lines, in no order of time, into two daemons; queries beside both; peak memory; exports
compared. Prints name=value lines; ratios that are for the better are above 1 for rates, below 1 for times and memory.

The rate of an import counts from its start to its end, when everything is on disk and every query sees it. What the queries read is in both daemons before,
and their times are first measured for some seconds without an import. TMPDIR has room for about 100 bytes a point.

With --copies the same lines come so many times, each 11.6 days earlier: a large input that takes less long to make than to import.

usage: bulk_rate.py [POINTS] [--copies N] [--bulk-only] [--idle] [--series N] [--bulk-memory BYTES] [--rounds N] [--queries-per-s N]"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
from tsdtest import Daemon, binary  # noqa: E402

T0, STEP, FILES = 1793620800, 10, 4
IDLE_S = 15


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("points", nargs="?", type=int, default=20000000)
    p.add_argument("--copies", type=int, default=1, choices=range(1, 61), metavar="N")
    p.add_argument("--bulk-only", action="store_true", help="neither the live import nor exports")
    p.add_argument("--idle", action="store_true", help="import only while nothing else wants the processor")
    p.add_argument("--series", type=int, default=10000)
    p.add_argument("--bulk-memory", default="512M")
    p.add_argument("--rounds", type=int, default=1, help="pairs of imports; the median is printed")
    p.add_argument("--queries-per-s", type=float, default=20)
    return p.parse_args()


def write_files(folder, opt):
    """Values with two decimals, the last of which is not 0, so that exports have one text for each. Steps come in no order of time."""
    rnd = random.Random(1)
    heads = ["put cpu.m%d " % (i % 10) for i in range(opt.series)]
    tails = [" host=host%04d cpu=%d\n" % (i // 10, i % 10) for i in range(opt.series)]
    n_steps = max(1, opt.points // opt.series)
    steps = list(range(n_steps))
    rnd.shuffle(steps)
    values = ["%d.%d%d" % (rnd.randrange(100), rnd.randrange(10), rnd.randrange(1, 10)) for _ in range(opt.series * 3)]
    names = [os.path.join(folder, "in%d" % k) for k in range(FILES)]
    for k, name in enumerate(names):
        with open(name, "w") as f:
            for step in steps[k::FILES]:
                stamp, at = "%d " % (T0 - step * STEP), rnd.randrange(opt.series * 2)
                f.write("".join([h + stamp + v + t for h, v, t in zip(heads, values[at:at + opt.series], tails)]))
    for k in range(1, opt.copies):  # every time begins with 1793
        names.append(os.path.join(folder, "copy%d" % k))
        subprocess.run("cat %s | sed 's/ 1793/ 17%d/' > %s" % (" ".join(names[:FILES]), 93 - k, names[-1]), shell=True, check=True)
    return names, n_steps * opt.series * opt.copies


class Queries:
    """A query at a fixed rate, each on the clock and not after the one before, so that a stall shows in those that it holds up."""

    def __init__(self, d, per_s):
        self.d, self.per_s, self.ms, self.stop = d, per_s, [], threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    def run(self):
        url = "/api/query?start=%d&end=%d&m=sum:1m-avg:seen{host=*}" % (T0 - 3600, T0)
        due = time.monotonic()
        while not self.stop.is_set():
            time.sleep(max(0, due - time.monotonic()))
            self.d.http(url)
            self.ms.append((time.monotonic() - due) * 1e3)
            due += 1 / self.per_s

    def percentile(self, p):
        v = sorted(self.ms)
        return v[min(len(v) - 1, int(len(v) * p / 100))]


def rss_peak(d):
    with open("/proc/%d/status" % d.proc.pid) as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1)) * 1024


def cpu_s(d):
    with open("/proc/%d/stat" % d.proc.pid) as f:
        fields = f.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed_import(d, files, more):
    """Seconds, and the peak of the process's resident memory."""
    began = time.monotonic()
    p = subprocess.Popen([binary(), "import", *more, "--port", str(d.port), *files], stderr=subprocess.PIPE, text=True)
    err = p.stderr.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        sys.exit("import: " + err)
    return time.monotonic() - began, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def digest(d):
    """Of all lines of an export, whatever their order."""
    out = subprocess.run("'%s' export --port %d | LC_ALL=C sort --parallel=2 -S 1G | sha256sum" % (binary(), d.port), shell=True,
                         stdout=subprocess.PIPE, check=True)
    return out.stdout.split()[0]


def one(files, n, opt, more):
    with Daemon() as d:
        d.send("".join("put seen %d %d.%d host=h%d\n" % (T0 - t, t % 97, 1 + t % 9, h) for t in range(0, 3600, 5) for h in range(100)))
        d.sync()
        d.flush("compact")
        with Queries(d, opt.queries_per_s) as idle:
            time.sleep(IDLE_S)
        with Queries(d, opt.queries_per_s) as beside:
            before = cpu_s(d)
            wall, rss, cpu = timed_import(d, files, more)
            served = cpu_s(d) - before
        return {"rate": n / wall, "import_rss": rss, "import_cpu_ns": cpu / n * 1e9, "daemon_cpu_ns": served / n * 1e9, "daemon_rss": rss_peak(d), "p99_idle": idle.percentile(99),
                "p99": beside.percentile(99), "max": max(beside.ms), "n": len(beside.ms), "digest": None if opt.bulk_only else digest(d)}


def median(runs, name):
    v = sorted(r[name] for r in runs)
    return v[len(v) // 2]


def main():
    opt = arguments()
    with tempfile.TemporaryDirectory(prefix="tsd-bulk-rate.") as folder:
        files, n = write_files(folder, opt)
        print("points=%d series=%d input_bytes=%d load_average=%.2f" % (n, opt.series, sum(os.path.getsize(f) for f in files), os.getloadavg()[0]), flush=True)
        runs = {"live": [], "bulk": []}
        for _ in range(opt.rounds):
            for kind, more in (("live", []), ("bulk", ["--bulk", "--bulk-memory", opt.bulk_memory] + ["--idle"] * opt.idle)):
                if kind == "live" and opt.bulk_only:
                    continue
                r = one(files, n, opt, more)
                runs[kind].append(r)
                print("%s_millions_per_s=%.2f import_peak_mb=%.0f import_cpu_ns=%.0f daemon_cpu_ns=%.0f daemon_peak_mb=%.0f query_p99_idle_ms=%.2f query_p99_ms=%.2f query_max_ms=%.1f queries=%d"
                      % (kind, r["rate"] / 1e6, r["import_rss"] / 1e6, r["import_cpu_ns"], r["daemon_cpu_ns"], r["daemon_rss"] / 1e6, r["p99_idle"], r["p99"], r["max"], r["n"]), flush=True)
        live, bulk = runs["live"], runs["bulk"]
        budget = int(opt.bulk_memory[:-1]) << {"K": 10, "M": 20, "G": 30}[opt.bulk_memory[-1]]
        print("bulk_over_5m=%.2f p99_over_idle=%.2f memory_over_budget=%.2f"
              % (median(bulk, "rate") / 5e6, median(bulk, "p99") / median(bulk, "p99_idle"), max(r["import_rss"] for r in bulk) / budget))
        if live:
            print("bulk_over_live=%.2f live_p99_over_idle=%.2f export_equal=%d"
                  % (median(bulk, "rate") / median(live, "rate"), median(live, "p99") / median(live, "p99_idle"), len({r["digest"] for r in live + bulk}) == 1))


main()
