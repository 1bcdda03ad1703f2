#!/usr/bin/env python3
"""A daemon that is away while 1,000 points a second are measured: none may be missing or changed afterwards. Then a spool of 1 MiB, which must
drop the oldest points alone, count them and say so.

    collect_away.py                      some seconds away
    collect_away.py --minutes M          M minutes, and the full spool
"""
import argparse
import os
import re
import sys
import time

from collect import Collector, TMP, check, stored, wait_for
from tsdtest import Daemon, ROOT

sys.path.insert(0, ROOT + "/tests/integration/programs")
import flood  # noqa: E402


def seconds(diary):
    """Seconds printed whole."""
    if not os.path.exists(diary):
        return []
    with open(diary, encoding="ascii") as f:
        return [int(line) for line in f.read().split("\n")[:-1]]


def collector(name, port, *options):
    diary = TMP.name + "/" + name + ".diary"
    return diary, Collector(name, port, "--only", "programs,self", "--collect-commands",
                            "0 %s %s/tests/integration/programs/flood.py %s" % (sys.executable, ROOT, diary), *options)


def cpu_s(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as f:
        w = f.read().rpartition(")")[2].split()
    return (int(w[11]) + int(w[12])) / os.sysconf("SC_CLK_TCK")


def rss_mib(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1)) / 1024


def spool_bytes(c):
    return sum(os.path.getsize(c.dir + "/spool/" + n) for n in os.listdir(c.dir + "/spool") if n.endswith(".seg"))


def read_back(d):
    """{second: {series: value}}"""
    out = {}
    for (tags, ts), v in stored(d, "away.m").items():
        n = int(re.search(r"\bn=(\d+)", tags).group(1))
        out.setdefault(int(ts), {})[n] = int(v)
    return out


def whole(got, ts):
    return len(got.get(ts, {})) == flood.SERIES and all(v == flood.value(ts, i) for i, v in got[ts].items())


def no_point_is_lost(minutes):
    with Daemon(workers=1) as d:
        diary, c = collector("away", d.port)
        c.start()
        wait_for("first points", lambda: stored(d, "away.m"))
        d.kill()
        from_s = time.time()
        n_before = len(seconds(diary))
        while time.time() < from_s + minutes * 60:
            time.sleep(min(1, max(0.01, from_s + minutes * 60 - time.time())))
        n_away, n_bytes, cpu = len(seconds(diary)) - n_before, spool_bytes(c), cpu_s(c.proc.pid)
        d.start()
        back_s = time.time()
        wait_for("the spool to be delivered", lambda: spool_bytes(c) < 1 << 18, 600)
        took_s, rss = time.time() - back_s, rss_mib(c.proc.pid)
        c.stop()
        check(not c.waiting(), "points wait after an orderly stop")
        got, printed = read_back(d), seconds(diary)
        for ts in printed:
            check(whole(got, ts), "of second %d %d points are right" % (ts, sum(v == flood.value(ts, i) for i, v in got.get(ts, {}).items())))
        check(set(got) == set(printed), "seconds that were not printed: %s" % sorted(set(got) - set(printed)))
        check(n_away >= minutes * 60 * 0.5, "only %d seconds were measured meanwhile" % n_away)
        print("away: %.1f minutes, %d points measured meanwhile, %d in all, none lost; spool %.1f MiB, delivered in %.1f s; tsd collect: %.1f s of "
              "processor time until then, at most %.1f MiB resident" % (minutes, n_away * flood.SERIES, len(printed) * flood.SERIES,
                                                                        n_bytes / 2**20, took_s, cpu, rss))


def the_oldest_are_dropped():
    """More than fits a spool of 1 MiB: the oldest seconds go and all that came later stays."""
    with Daemon(workers=1) as d:
        d.kill()
        diary, c = collector("full", d.port, "--collect-spool-bytes", "1M")
        c.start()
        wait_for("dropped points", lambda: os.path.exists(c.log) and "spool full" in open(c.log, encoding="utf-8").read(), 600)
        check(spool_bytes(c) <= 1 << 20, "the spool is larger than its limit")
        d.start()
        wait_for("the spool to be delivered", lambda: spool_bytes(c) < 1 << 16, 600)
        wait_for("the count", lambda: any("state=dropped" in t and float(v) > 0 for (t, _), v in stored(d, "tsd.collect.points").items()))
        c.stop()
        n_dropped = max(int(v) for (t, _), v in stored(d, "tsd.collect.points").items() if "state=dropped" in t)
        got, printed = read_back(d), seconds(diary)
        n_missing = sum(flood.SERIES - len(got.get(ts, {})) for ts in printed)
        check(0 <= n_dropped - n_missing < 2000, "%d points were dropped, %d are missing" % (n_dropped, n_missing))
        left = [ts for ts in printed if whole(got, ts)]
        check(left and left == printed[-len(left):] and len(printed) - len(left) <= n_missing / flood.SERIES + 1,
              "it is not the oldest that was dropped")
        print("away: spool of 1 MiB: %d points of %d dropped, the oldest, counted and logged" % (n_dropped, len(printed) * flood.SERIES))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--minutes", type=float)
    args = p.parse_args()
    no_point_is_lost(args.minutes or 0.05)
    if args.minutes:
        the_oldest_are_dropped()


if __name__ == "__main__":
    main()
