#!/usr/bin/env python3
"""What `tsd collect` costs: processor time and memory for 1,000 points every 10 s, read from this host's real /proc and /sys.

    tests/bench/collect_cost.py [SECONDS] [REPEAT_INTERVAL_S]     default 120 and 0

The host has fewer or more series than 1,000, so the interval is chosen such that their points come at 100 a second; a daemon on a port of
its own takes them. Counted from when the collector has settled: its own processor time (user and system, children none) and resident
memory. Prints one line. Binary: $TSD, else build/release/tsd.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT + "/tests/integration")
os.environ.setdefault("TSD", ROOT + "/build/release/tsd")
from tsdtest import Daemon, binary  # noqa: E402

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def usage(pid):
    stat = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    sched = sum(int(open("/proc/%d/task/%s/schedstat" % (pid, t)).read().split()[0]) for t in os.listdir("/proc/%d/task" % pid)) / 1e9
    status = open("/proc/%d/status" % pid).read()
    kib = {k: int(v) for k, v in re.findall(r"^(Vm\w+|Rss\w+):\s+(\d+)", status, re.M)}
    return sched, (int(stat[11]) + int(stat[12])) * TICK_S, kib


def sent(d):
    got = d.api("/api/query?start=1h-ago&m=max:tsd.collect.points%7Bstate=sent%7D")
    return max(int(v) for v in got[0]["dps"].values())


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    repeat = sys.argv[2] if len(sys.argv) > 2 else "0"
    once = subprocess.run([binary(), "collect", "--once", "--format", "text"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    n_series = once.stdout.count("\n")
    interval = max(1, round(n_series / 100))
    with Daemon(workers=1) as d, tempfile.TemporaryDirectory() as folder:
        c = subprocess.Popen([binary(), "collect", "--server", "127.0.0.1:%d" % d.port, "--collect-dir", folder,
                              "--collect-interval-s", str(interval), "--collect-repeat-interval-s", repeat], stderr=subprocess.DEVNULL)
        time.sleep(3 * interval + 2)
        cpu0, _, _ = usage(c.pid)
        n0, t0 = sent(d), time.monotonic()
        time.sleep(seconds)
        cpu, ticks, kib = usage(c.pid)
        n, t = sent(d) - n0, time.monotonic() - t0
        c.terminate()
        c.wait(60)
    per_s = n / t
    pct = 100 * (cpu - cpu0) / t
    print("%d series every %d s, %.0f s: %.0f points/s, %.3f %% of a core; for 100 points/s (1,000 series every 10 s) %.3f %%; "
          "resident %.1f MiB (%.1f MiB of it anonymous, the rest pages of the program's file), peak %.1f MiB"
          % (n_series, interval, t, per_s, pct, pct * 100 / per_s, kib["VmRSS"] / 1024, kib["RssAnon"] / 1024, kib["VmHWM"] / 1024))


if __name__ == "__main__":
    main()
