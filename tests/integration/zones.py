#!/usr/bin/env python3
"""A generated log with known answers across clock changes, by day and by hour, in seven zones.

Days of 23 and 25 hours (Europe/Berlin 2026-03-29 and 2025-10-26, America/New_York 2026-03-08 and 2026-11-01), +5:45 (Asia/Kathmandu), half-hour
changes (Australia/Lord_Howe), rules of 2022 and 2024 (America/Mexico_City, Asia/Almaty). Expected rows come from Python's zoneinfo; the repeated hour of autumn is two rows.
"""
import collections
import datetime
import random
import sys
import zoneinfo

from tsdtest import Daemon

UTC = datetime.timezone.utc
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Mexico_City", "Asia/Almaty", "UTC")
# stretches of UTC days around changes of clocks
STRETCHES = ((2026, 3, 27, 4), (2026, 10, 30, 4), (2025, 10, 24, 4), (2026, 3, 6, 4), (2026, 4, 3, 4), (2026, 10, 2, 4))


def main():
    rng = random.Random(2026)
    points = {}
    for year, month, day, n in STRETCHES:
        t0 = int(datetime.datetime(year, month, day, tzinfo=UTC).timestamp())
        for _ in range(4000):
            points[(t0 + rng.randrange(n * 86400), rng.choice("abc"))] = rng.randrange(1, 9)
    bad = 0
    with Daemon(workers=2) as d:
        d.send("".join("put web.hits %d %d domain=%s.example\n" % (t, v, dom) for (t, dom), v in points.items()))
        d.sync()
        for state in ("memory", "merged"):
            for zone in ZONES:
                tz = zoneinfo.ZoneInfo(zone)
                for by in ("day", "hour", "day,domain", "hour,domain"):
                    bad += compare(d, points, tz, zone, by, state)
                for by in LABELS:
                    bad += by_label(d, points, tz, zone, by, state)
            d.flush("compact")
        bad += by_default(d, points)
    print("zones: %d points, %s" % (len(points), "equal" if not bad else "%d differences" % bad))
    return 1 if bad else 0


# what a row is called, by local time
LABELS = {
    "10m": lambda t: (t.strftime("%Y-%m-%d"), t.strftime("%H:") + "%02d" % (t.minute // 10 * 10)),
    "6h": lambda t: (t.strftime("%Y-%m-%d"), "%02d:00" % (t.hour // 6 * 6)),
    "week": lambda t: ((t - datetime.timedelta(days=t.weekday())).strftime("%Y-%m-%d"),),
    "month": lambda t: (t.strftime("%Y-%m"),),
    "year": lambda t: (t.strftime("%Y"),),
    "weekday": lambda t: (t.strftime("%a"),),
    "hourofday": lambda t: (t.strftime("%H"),),
    "month,weekday,hourofday": lambda t: (t.strftime("%Y-%m"), t.strftime("%a"), t.strftime("%H")),
}


def by_label(d, points, tz, zone, by, state):
    """Rows of one label added up: a time that comes twice is one label here."""
    want, got = collections.Counter(), collections.Counter()
    for (t, _), v in points.items():
        want[LABELS[by](datetime.datetime.fromtimestamp(t, tz).replace(tzinfo=None))] += v
    for row in d.query("2025/10/01", "2026/12/01", "sum", "web.hits", "--by", by, "--tz", zone)[1]:
        got[tuple(x[:5] if ":" in x else x for x in row[:-1])] += int(row[-1])
    if got != want:
        print("DIFFERENT %s %s by %s: %r" % (state, zone, by, [(k, got[k], want[k]) for k in set(got) | set(want) if got[k] != want[k]][:3]))
    return got != want


def by_default(d, points):
    """The key timezone is the zone of who names none; compat = opentsdb keeps the calendar of UTC."""
    tz = zoneinfo.ZoneInfo("Asia/Kathmandu")
    d.keys["timezone"] = tz.key
    d.restart()
    bad = compare(d, points, tz, None, "day", "key timezone")
    for compat, shift in (("none", 0), ("opentsdb", 5 * 3600 + 45 * 60)):
        d.keys["compat"] = compat
        d.restart()
        # asked for from a midnight of Kathmandu on: buckets at its midnights, or at the next ones of UTC
        got = list(d.api("/api/query?start=2026/03/28&end=2026/03/30&m=sum:1dc-sum:web.hits")[0]["dps"])
        first = int(datetime.datetime(2026, 3, 28, tzinfo=tz).timestamp()) + shift
        if got[:1] != [str(first)]:
            print("DIFFERENT calendar of %s: %s, expected first %d" % (compat, got, first))
            bad += 1
    return bad


def compare(d, points, tz, zone, by, state):
    cells = collections.Counter()
    for (t, dom), v in points.items():
        local = datetime.datetime.fromtimestamp(t, tz)
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        if by.startswith("day"):
            key = (midnight.timestamp(), local.strftime("%Y-%m-%d"))
        else:
            # a cell is one clock reading of date and hour; the second time round (fold) is another cell
            key = (local.strftime("%Y-%m-%d"), local.strftime("%H"), local.fold)
        cells[key + ((dom + ".example",) if "domain" in by else ())] += v
    header, rows = d.query("2025/10/01", "2026/12/01", "sum", "web.hits", "--by", by, *(("--tz", zone) if zone else ()))
    if by.startswith("day"):
        want = [k[1:] + (str(v),) for k, v in sorted(cells.items())]
        got = rows
    else:
        # The hour of a repeated row must differ from its twin somehow: compare totals of twins as a sorted pair, and rows one by one elsewhere.
        twins = collections.defaultdict(list)
        for k, v in cells.items():
            twins[(k[0], k[1]) + k[3:]].append(v)
        got_twins = collections.defaultdict(list)
        texts = set()
        for r in rows:
            texts.add(r[:-1])
            got_twins[(r[0], r[1][:2]) + r[2:-1]].append(int(r[-1]))
        want = {k: sorted(v) for k, v in twins.items()}
        got = {k: sorted(v) for k, v in got_twins.items()}
        if len(texts) != len(rows):
            print("DIFFERENT %s %s by %s: two rows can't be told apart" % (state, zone, by))
            return 1
    if got != want:
        diff = [x for x in zip(got, want) if x[0] != x[1]][:3] if isinstance(got, list) else [(k, got.get(k), want.get(k)) for k in set(got) | set(want) if got.get(k) != want.get(k)][:3]
        print("DIFFERENT %s %s by %s: %d rows, expected %d; %r" % (state, zone, by, len(rows), len(want), diff))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
