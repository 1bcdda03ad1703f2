#!/usr/bin/python3
"""Check rowkeys.py: its sums, its bounds, and its regions against those of real keys in sorted lists. Ends with 1 if anything is wrong."""
import bisect
import sys

import numpy as np

import rowkeys as rk

failed = []


def check(what, good, *facts):
    if not good:
        failed.append(what)
    print("%s: %s %s" % ("ok" if good else "WRONG", what, " ".join(str(f) for f in facts)))


def sums(table):
    """After each step: sizes and loads add up, boundaries ascend, no region is beyond the limit by more than a step can add."""
    sizes, _ = table.sizes()
    total = table.written().sum()
    keys = table.stream + table.since / (2 * table.load.days * rk.DAY)
    step = table.rate.sum() * table.load.step
    ended = table.now >= table.scheme.end.max()  # nothing is written any more
    return (abs(sizes.sum() - total) <= 1e-9 * total and (ended or abs(table.loads().sum() - 1) < 1e-9) and np.all(np.diff(keys) > 0)
            and sizes.min() >= 0 and sizes.max() <= table.limit * 1.13 + 2 * step
            and np.bincount(table.server, minlength=table.load.servers).ptp() <= 1)


def all_schemes(load):
    """What must hold of each scheme in a small year."""
    got = {}
    largest = rk.shares(load).max()
    for scheme in rk.schemes(load):
        table = rk.Table(load, scheme)
        bad = []
        h = table.run(lambda t, bad=bad: None if sums(t) else bad.append(t.now))
        check("sums of " + scheme.name, not bad, bad[:3])
        check("splits make regions of " + scheme.name, table.n_first + h["splits"].sum() == len(table.stream))
        late = h["day"] >= 30
        got[scheme.name] = (h["usable"][late].mean(), h["hottest"][late].mean(), h, scheme, table)
    for name in ("sequential ids", "bits reversed", "bytes reversed", "hashed metric id"):
        check("one region takes all of the largest metric: " + name, got[name][2]["hottest"].min() >= largest - 1e-12, got[name][1])
        check("few servers are usable: " + name, got[name][0] < 8, got[name][0])
    check("salt spreads the largest metric", got["salt, 20 buckets"][1] < 1.6 * largest / 20, got["salt, 20 buckets"][1])
    check("more buckets spread better", got["salt, 4 buckets"][0] < got["salt, 20 buckets"][0] < got["salt, 100 buckets"][0] + 0.5)
    check("a hash uses nearly all servers", got["hash of the series"][0] > 15, got["hash of the series"][0])
    day = got["prefix of the month"][2]["day"]
    first = got["prefix of the month"][2]["hottest"][(day % 30 == 0)]
    check("each month begins in one region", len(first) > 2 and np.all(first > 0.999), first.min())
    for name, (_, _, _, scheme, _) in got.items():
        check("the shares of %s add up" % name, abs(scheme.share.sum() - (13 if "month" in name else 1)) < 1e-9)
    one = rk.queries(load)[0]
    fan = {name: table.fan_out(*one[1:]) for name, (_, _, _, _, table) in got.items()}
    check("a series is one range without salt, a range for each bucket with it",
          fan["sequential ids"][0] == 1 and fan["salt, 20 buckets"][0] == 20 and fan["hash of the series"] == (1, 1, 24), fan)
    month = got["prefix of the month"][4].fan_out(*rk.queries(load)[3][1:])
    check("a month is one range behind its prefix", month[0] == 1, month)


def real_keys(kind, counts, hours, limit, buckets):
    """Regions of real keys: (their number, share of the hottest one, a mean over the second half). Every region is a sorted list."""
    salt = {}
    for m, n in enumerate(counts):
        salt[m] = rk.salt_of(rk.series_keys(m + 1, np.arange(1, n + 1)), buckets)
    regions, starts, hottest = [[]], [()], []
    for hour in range(hours):
        hit = {}
        for m, n in enumerate(counts):
            for i in range(n):
                key = {"plain": (m, hour, i), "salt": (int(salt[m][i]), m, hour, i), "month": (hour // 720, m, hour, i)}[kind]
                at = bisect.bisect_right(starts, key) - 1
                bisect.insort(regions[at], key)
                hit[at] = hit.get(at, 0) + 1
        hottest.append(max(hit.values()) / sum(counts))
        for at in range(len(regions) - 1, -1, -1):
            if len(regions[at]) > limit:
                half = len(regions[at]) // 2
                regions.insert(at + 1, regions[at][half:])
                starts.insert(at + 1, regions[at + 1][0])
                del regions[at][half:]
    return len(regions), float(np.mean(hottest[hours // 2:]))


def against_real_keys():
    """Model and real keys agree: 8 metrics of 3 to 60 series, 1,500 hours, regions of 1,000 rows."""
    counts = np.array([60, 3, 20, 30, 8, 40, 12, 27])
    hours, limit, buckets = 1500, 1000, 5
    load = rk.Load(series=float(counts.sum()), interval=3600, days=hours / 24, metrics=len(counts), servers=4, step=3600.0)
    share = counts / counts.sum()
    n = len(counts)
    zero, ever = np.zeros(n), np.full(n, np.inf)
    parts = np.array([np.bincount(rk.salt_of(rk.series_keys(m + 1, np.arange(1, c + 1)), buckets), minlength=buckets)
                      for m, c in enumerate(counts)]).T.ravel()
    begin = np.repeat(np.arange(3) * rk.MONTH, n)
    cases = {"plain": rk.Scheme("plain", 0, share, np.arange(n), zero, ever),
             "salt": rk.Scheme("salt", 0, np.maximum(parts, 1e-9) / counts.sum(), np.tile(np.arange(n), buckets), np.tile(zero, buckets),
                               np.tile(ever, buckets)),
             "month": rk.Scheme("month", 0, np.tile(share, 3), np.tile(np.arange(n), 3), begin, begin + rk.MONTH)}
    for kind, scheme in cases.items():
        table = rk.Table(load, scheme, limit * load.row_bytes(0), limit * load.row_bytes(0), 0.0)
        h = table.run()
        mine = len(table.stream), float(h["hottest"][hours // 2:].mean())
        real = real_keys(kind, counts.tolist(), hours, limit, buckets)
        check("regions of real keys: " + kind, abs(mine[0] / real[0] - 1) < 0.1, mine[0], real[0])
        check("hottest region of real keys: " + kind, abs(mine[1] / real[1] - 1) < 0.1, "%.3f %.3f" % (mine[1], real[1]))


def salts():
    """OpenTSDB's hash: the examples of docs/OPENTSDB.md 10.3, and that it spreads ids in sequence."""
    known = [rk.salt_of(rk.series_keys(m, np.array([v])), 20)[0] for m, v in ((1, 1), (1, 2), (0xFFFFFF, 1))]
    check("salts of known keys", known == [8, 9, 6], known)
    count = np.bincount(rk.salt_of(rk.series_keys(1, np.arange(1, 100001)), 20), minlength=20)
    check("salt spreads ids in sequence", count.sum() == 100000 and count.max() < 1.01 * count.mean(), count.max())


def main():
    salts()
    all_schemes(rk.Load(series=2e6, interval=60, days=365, metrics=120, step=rk.DAY))
    against_real_keys()
    check("reversed bits and bytes", rk.reverse_bits(np.array([1, 3])).tolist() == [0x800000, 0xC00000]
          and rk.reverse_bytes(np.array([0x010203])).tolist() == [0x030201])
    print("%d wrong" % len(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
