#!/usr/bin/env python3
"""Weather stations and servers' metrics (tests/data/weather-nab.txt.gz) queried every way, against a plain reading of the rules.

    data_check.py [--queries N] [--seed S] [--file PUTS]     PUTS: `put` lines or lines without the word, plain or .gz

The reference below knows the rules of docs/QUERY.md and nothing of the daemon: lists, loops, one series after the other. Each question is asked while points are
in memory, from files, and compacted.
"""
import argparse
import bisect
import gzip
import json
import math
import random
import sys

from tsdtest import ROOT, Daemon

HOUR = 3600
NAN = float("nan")


def is_int(v):
    return isinstance(v, int)


def cut(a, b):
    """Division of integers towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def dev(v):
    mean = math.fsum(v) / len(v)
    return math.sqrt(math.fsum((x - mean) ** 2 for x in v) / len(v))


def legacy(p):
    def fn(v):
        v = sorted(v)
        h = p * (len(v) + 1)
        if h < 1 or h >= len(v):
            return v[0] if h < 1 else v[-1]
        k = int(h)
        return v[k - 1] + (h - k) * (v[k] - v[k - 1])
    return fn


def total(v):
    return sum(v) if all(map(is_int, v)) else math.fsum(v)


def mean(v):
    return cut(sum(v), len(v)) if all(map(is_int, v)) else math.fsum(v) / len(v)


FOLDS = {"sum": total, "zimsum": total, "pfsum": total, "min": min, "mimmin": min, "max": max, "mimmax": max, "avg": mean, "count": len,
         "median": lambda v: sorted(v)[len(v) // 2], "first": lambda v: v[0], "last": lambda v: v[-1], "diff": lambda v: v[-1] - v[0] if len(v) > 1 else 0,
         "squareSum": lambda v: total([x * x for x in v]), "dev": dev, "p50": legacy(.5), "p95": legacy(.95), "p999": legacy(.999)}
GAP = {"zimsum": "zero", "squareSum": "zero", "count": "zero", "first": "zero", "last": "zero", "mimmin": "max", "mimmax": "min", "pfsum": "prev"}


def fold(name, values):
    """NaN is no value; count of nothing is 0, anything else of nothing NaN; first and last take NaN as it is."""
    if name not in ("first", "last"):
        values = [v for v in values if v == v]
    if name == "count":
        return len(values)
    if not values:
        return NAN
    got = FOLDS[name](values)
    return int(got) if all(map(is_int, values)) and got == got else got


class Query:
    def __init__(self, rng, metrics):
        self.metric = rng.choice(sorted(metrics))
        series = metrics[self.metric]
        self.key = next(iter(series))[0]
        around = rng.choice(rng.choice(list(series.values())))[0]
        self.start = around - rng.randint(0, 3 * HOUR)
        self.end = self.start + rng.choice([600, HOUR, 6 * HOUR, 86400, 5 * 86400, 40 * 86400]) + rng.randint(0, 1800)
        if rng.random() < .3:
            self.start -= self.start % HOUR
        self.agg = rng.choice(sorted(FOLDS) + ["none", "sum", "avg", "sum", "max"])
        self.group = rng.random() < .4
        self.values = sorted(rng.sample(sorted(v for _, v in series), rng.randint(1, len(series)))) if rng.random() < .5 else None
        self.rate = rng.random() < .25
        self.step = self.all = None
        self.fill = "none"
        if rng.random() < .7:
            self.step, unit = rng.choice([(300, "5m"), (420, "7m"), (1800, "30m"), (HOUR, "1h"), (HOUR * 5, "5h"), (86400, "1d"), (86400 * 7, "1w")])
            self.fn = rng.choice(sorted(FOLDS))
            self.fill = rng.choice(["none", "none", "nan", "zero", "null"])
            if rng.random() < .1 and not self.rate:
                self.all, self.step, unit, self.fill = True, None, "0all", "none"
            self.text = "%s-%s%s" % (unit, self.fn, "" if self.fill == "none" else "-" + self.fill)

    def uri(self):
        parts = [self.agg] + ([self.text] if self.step or self.all else []) + (["rate"] if self.rate else [])
        expr = "literal_or(%s)" % "|".join(self.values) if self.values else "*"
        braces = "{%s=%s}" % (self.key, expr) if self.group else "{}{%s=%s}" % (self.key, expr)
        return "/api/query?start=%d&end=%d&m=%s:%s%s" % (self.start, self.end, ":".join(parts), self.metric, braces)

    def padded(self):
        """From which second to which (excluded) points are read."""
        if self.all:
            return self.start, self.end
        start, end = self.start, self.end + 1
        if self.step:
            start -= start % self.step
            end += self.step - end % self.step
            return start - start % HOUR, -(-end // HOUR) * HOUR
        return start - start % HOUR, end + HOUR - end % HOUR

    def buckets(self, points, lo, hi):
        if self.all:
            return [(self.start, float(fold(self.fn, [float(v) for _, v in points])))] if points else []
        first, got = -(-lo // self.step) * self.step, {}
        for t, v in points:
            got.setdefault(t - t % self.step, []).append(float(v))
        got = {b: float(fold(self.fn, v)) for b, v in got.items() if b >= first}
        if self.fill == "none":
            return sorted(got.items())
        empty = 0.0 if self.fill == "zero" else NAN
        return [(b, got.get(b, empty)) for b in range(first, hi + 1, self.step)]

    def one(self, points):
        """A series on its way to the group: read, downsampled, rated."""
        lo, hi = self.padded()
        points = [p for p in points if lo <= p[0] < hi]
        if not points:
            return None
        if self.step or self.all:
            points = self.buckets(points, lo, hi)
        if self.rate:
            points = [(b[0], (b[1] - a[1]) / (b[0] - a[0])) for a, b in zip(points, points[1:])]
        return points

    def between(self, a, b, x, integers):
        how = "prev" if self.rate else GAP.get(self.agg, "line")
        if how == "prev":
            return a[1]
        if how != "line":
            big = {"zero": 0, "max": 2 ** 63 - 1 if integers else sys.float_info.max, "min": -2 ** 63 if integers else -sys.float_info.max}[how]
            return big
        up, over, run = b[1] - a[1], x - a[0], b[0] - a[0]
        return a[1] + (cut(over * up, run) if integers else over * up / run)

    def at(self, x, members):
        """Value of the group at a time."""
        places = [(p, bisect.bisect_right(p, (x, math.inf))) for p in members]
        held = [v for p, k in places if p and (k < len(p) or p[-1][0] == x) for _, v in p[max(k - 1, 0):k + 1]]
        integers = not self.rate and not self.step and not self.all and all(map(is_int, held))
        values = []
        for p, k in places:
            if k == 0 or (k == len(p) and p[-1][0] != x):
                continue
            v = p[k - 1][1] if p[k - 1][0] == x else self.between(p[k - 1], p[k], x, integers)
            values.append(v if integers else float(v))
        return fold(self.agg, values)

    def answer(self, metrics):
        """{group: {second: value}}"""
        out = {}
        for (_, value), points in metrics[self.metric].items():
            if self.values and value not in self.values:
                continue
            got = self.one(points)
            if got is not None:
                out.setdefault(value if self.group or self.agg == "none" else "", []).append(got)
        result = {}
        for name, members in out.items():
            times = sorted({t for p in members for t, _ in p if self.start <= t <= self.end})
            if self.agg == "none":
                result[name] = dict(p for p in members[0] if self.start <= p[0] <= self.end)
            else:
                result[name] = {t: self.at(t, members) for t in times}
        return result


def same(a, b):
    if a is None or b is None or a == "NaN" or b == "NaN" or a != a or b != b:
        none = (None, "NaN")
        return (a in none or a != a) and (b in none or b != b)
    return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b)) or abs(a - b) < 1e-12


def difference(q, want, rows):
    got = {}
    for r in rows:
        name = r["tags"].get(q.key, "") if q.group or q.agg == "none" else ""
        if name in got:
            return "two groups %s" % name
        got[name] = {int(t): v for t, v in r["dps"].items()}
    if set(want) != set(got):
        return "groups %s instead of %s" % (sorted(got), sorted(want))
    for name, points in want.items():
        if set(points) != set(got[name]):
            return "%s: times %s too much, %s missing" % (name, sorted(set(got[name]) - set(points))[:4], sorted(set(points) - set(got[name]))[:4])
        for t, v in points.items():
            if not same(v, got[name][t]):
                return "%s at %d: %r instead of %r" % (name, t, got[name][t], v)
    return None


def number(text):
    return float(text) if any(c in text for c in ".eE") else int(text)


def load(path):
    """{metric: {(key, value): [(second, number)]}} in the order of the file, and its lines."""
    metrics, lines = {}, []
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as f:
        for line in f:
            metric, t, v, tag = line.replace("put ", "", 1).split()
            series = metrics.setdefault(metric, {}).setdefault(tuple(tag.split("=")), {})
            series[int(t)] = number(v)
            lines.append("put %s %s %s %s\n" % (metric, t, v, tag))
    first = {}
    for line in lines:
        first.setdefault(line.split()[-1].split("=")[1], len(first))
    # values of groups come in the order in which tag values were first used
    return {m: {k: sorted(p.items()) for k, p in sorted(s.items(), key=lambda x: first[x[0][1]])} for m, s in metrics.items()}, lines


def day_totals(d, metrics):
    """Totals by day and station against plain sums."""
    bad = 0
    for metric in sorted(m for m in metrics if m.startswith("weather")):
        for agg in ("sum", "count", "max", "avg", "last", "p95"):
            lo = min(p[0][0] for p in metrics[metric].values())
            hi = max(p[-1][0] for p in metrics[metric].values())
            rows = json.loads(d.http("/api/query?start=%d&end=%d&m=%s:%s&by=day,station" % (lo, hi, agg, metric)))
            want = {}
            for (_, station), points in metrics[metric].items():
                for t, v in points:
                    want.setdefault((t // 86400 * 86400, station), []).append(v)
            got = {(r["timestamp"], r["tags"]["station"]): r["value"] for r in rows}
            exact = {"avg": lambda v: math.fsum(v) / len(v), "p95": lambda v: legacy(.95)([float(x) for x in v])}
            ok = set(got) == set(want) and all(same(exact.get(agg, FOLDS[agg])(v), got[k]) for k, v in want.items())
            bad += not ok
            if not ok:
                print("DIFFERENT totals of %s %s" % (agg, metric))
    return bad


def newest(d, metrics):
    bad = 0
    for metric in sorted(metrics):
        rows = json.loads(d.http("/api/query/last?resolve&timeseries=" + metric))
        got = {tuple(*r["tags"].items()): (r["timestamp"] // 1000, number(r["value"])) for r in rows}
        want = {k: p[-1] for k, p in metrics[metric].items()}
        bad += got != want
        if got != want:
            print("DIFFERENT last of %s: %.200r" % (metric, got))
    return bad


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("--queries", type=int, default=250)
    ap.add_argument("--seed", type=int, default=5)
    ap.add_argument("--file", default=ROOT + "/tests/data/weather-nab.txt.gz")
    a = ap.parse_args()
    metrics, lines = load(a.file)
    bad = n = 0
    with Daemon(workers=2) as d:
        for i in range(0, len(lines), 5000):
            d.send("".join(lines[i:i + 5000]))
        d.sync()
        for level in ("memory", "files", "compact"):
            if level != "memory":
                d.flush(level)
            rng = random.Random(a.seed)
            for _ in range(a.queries if level != "files" else a.queries // 5):
                q = Query(rng, metrics)
                rows = json.loads(d.http(q.uri().replace("{", "%7B").replace("}", "%7D").replace("|", "%7C")))
                why = difference(q, q.answer(metrics), rows)
                n += 1
                bad += why is not None
                if why and bad < 10:
                    print("DIFFERENT (%s) %s\n  %s" % (level, q.uri(), why))
            bad += day_totals(d, metrics) + newest(d, metrics)
    print("data: %d queries over %d points, %d differences (seed %d)" % (n, len(lines), bad, a.seed))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
