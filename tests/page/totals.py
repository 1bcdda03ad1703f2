#!/usr/bin/env python3
"""The numbers of the page's view Totals on the days when clocks change, in Paris and New York: cells, totals of rows and columns, and the grand total of the
table and of both heat maps are those of the points, computed here with Python's own time zones. The page's modules run in node and ask a real daemon."""
import collections
import datetime
import json
import os
import random
import subprocess
import sys
import zoneinfo

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
from metakit import check, end, holds  # noqa: E402
from tsdtest import Daemon  # noqa: E402

HOSTS = ("a", "b", "c")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
CHANGES = (("Europe/Paris", "2026-03-29"), ("Europe/Paris", "2026-10-25"), ("America/New_York", "2026-03-08"), ("America/New_York", "2026-11-01"))


def midnight(day, zone, plus=0):
    """Seconds of the midnight that begins a day so many days later."""
    return int(datetime.datetime.combine(datetime.date.fromisoformat(day) + datetime.timedelta(plus), datetime.time(), zoneinfo.ZoneInfo(zone)).timestamp())


def points(day, zone):
    """[(seconds, host, value)] of five days around a change."""
    rand = random.Random(day)
    return [(t, host, rand.randrange(1, 1000)) for t in range(midnight(day, zone, -3), midnight(day, zone, 3), 1200) for host in HOSTS if rand.random() < 0.7]


def sums(found, key):
    """{key(point): sum}"""
    made = collections.Counter()
    for p in found:
        made[key(p)] += p[2]
    return dict(made)


def ask(base, zone, now, states):
    """What the page shows."""
    r = subprocess.run([os.environ.get("NODE", "node"), os.path.join(HERE, "totals_probe.mjs")], capture_output=True, text=True, timeout=120,
                       input=json.dumps({"base": base, "zone": zone, "now": now * 1000, "states": states}))
    if r.returncode:
        sys.exit("totals_probe.mjs: " + r.stderr)
    return json.loads(r.stdout)


def cells(table, rows, cols):
    """{(row, column): value} of a shown table, without empty cells."""
    return {(rows(r), cols(c)): v for r, line in zip(table["rows"], table["now"]) for c, v in zip(table["cols"], line) if v is not None}


def agrees(what, table, expected, grand):
    """Totals of a shown table are those of its cells, and the grand total is that of the points."""
    by_row, by_col = collections.Counter(), collections.Counter()
    for (r, c), v in expected.items():
        by_row[r] += v
        by_col[c] += v
    check(what + ": rows", sorted(x["now"] for x in table["rowTotals"] if x["now"] is not None), sorted(by_row.values()))
    check(what + ": columns", sorted(x["now"] for x in table["colTotals"] if x["now"] is not None), sorted(by_col.values()))
    check(what + ": all", table["all"]["now"], grand)


def one(base, zone, day, found):
    """The views of one change of clocks."""
    tz = zoneinfo.ZoneInfo(zone)
    wall = {t: datetime.datetime.fromtimestamp(t, tz) for t, _, _ in found}
    now = midnight(day, zone, 10)
    day_range = {"metric": "m", "start": day, "end": day}
    week = {"metric": "m", "start": str(datetime.date.fromisoformat(day) - datetime.timedelta(2)), "end": str(datetime.date.fromisoformat(day) + datetime.timedelta(1))}
    name = "%s %s " % (zone, day)
    hours, turned, mean = ask(base, zone, now, [{**day_range, "rows": "hour", "cols": "host"}, {**week, "rows": "host", "cols": "day", "top": "2"},
                                                {**week, "rows": "day", "cols": "host", "agg": "avg"}])

    inside = [p for p in found if midnight(day, zone) <= p[0] < midnight(day, zone, 1)]
    want = sums(inside, lambda p: (p[0] // 3600 * 3600, p[1]))
    check(name + "hours of the day", len(hours["main"]["rows"]), (midnight(day, zone, 1) - midnight(day, zone)) // 3600)
    check(name + "cells by hour", cells(hours["main"], lambda r: r["ms"] // 1000, str), want)
    agrees(name + "by hour", hours["main"], want, sum(p[2] for p in inside))
    want = sums(inside, lambda p: (midnight(day, zone), "%02d" % wall[p[0]].hour))
    check(name + "map by day", cells(hours["days"], lambda r: r["ms"] // 1000, str), want)
    agrees(name + "map by day", hours["days"], want, sum(p[2] for p in inside))
    odd = [(h, c["skipped"], c["twice"]) for h, c in enumerate(hours["days"]["cells"][0]["cells"]) if c["skipped"] or c["twice"]]
    spring = midnight(day, zone, 1) - midnight(day, zone) < 86400
    check(name + "odd hour", odd, [(2 if spring or zone == "Europe/Paris" else 1, spring, not spring)])

    inside = [p for p in found if midnight(day, zone, -2) <= p[0] < midnight(day, zone, 2)]
    grand = sum(p[2] for p in inside)
    date = {midnight(day, zone, n): n for n in range(-2, 2)}
    ranked = sorted(HOSTS, key=lambda host: -sum(p[2] for p in inside if p[1] == host))
    want = sums(inside, lambda p: (p[1] if p[1] in ranked[:2] else "(others)", (wall[p[0]].date() - datetime.date.fromisoformat(day)).days))
    check(name + "turned, with others", cells(turned["main"], lambda r: r["id"], lambda c: date[int(c)]), want)
    agrees(name + "turned", turned["main"], want, grand)
    want = sums(inside, lambda p: (WEEKDAYS[wall[p[0]].weekday()], "%02d" % wall[p[0]].hour))
    check(name + "map by weekday", cells(turned["weekdays"], lambda r: r["id"], str), want)
    agrees(name + "map by weekday", turned["weekdays"], want, grand)
    agrees(name + "map of days", turned["days"], sums(inside, lambda p: (wall[p[0]].date(), wall[p[0]].hour)), grand)
    check(name + "cells of the map by weekday", sum(c["v"] or 0 for r in turned["weekdays"]["cells"] for c in r["cells"]), grand)

    holds(name + "averages of all are not averages of averages", abs(mean["main"]["all"]["now"] - grand / len(inside)) < 1e-9, mean["main"]["all"])
    for row, total in zip(mean["main"]["rows"], mean["main"]["rowTotals"]):
        of_day = [p[2] for p in inside if date[row["ms"] // 1000] == (wall[p[0]].date() - datetime.date.fromisoformat(day)).days]
        holds(name + "average of a day", abs(total["now"] - sum(of_day) / len(of_day)) < 1e-9, (row, total))


def compared(base, zone, day, found):
    """Half of the day after the change is compared with the same half of the day before it, by the clock."""
    half = midnight(day, zone, 1) + 12 * 3600 + 600
    answer, whole = ask(base, zone, half, [{"metric": "m", "start": "today", "rows": "hour", "cmp": "1d"},
                                           {"metric": "m", "start": str(datetime.date.fromisoformat(day) + datetime.timedelta(1)), "end": str(datetime.date.fromisoformat(day) + datetime.timedelta(1))}])
    shown = answer["main"]
    for what, found_ in (("until now", answer["earlier"]), ("a whole day", whole["earlier"])):
        check("%s %s earlier ranges, %s" % (zone, day, what), [c["before"] for c in found_], [c["server"] for c in found_])
        holds("%s %s one of them has points, %s" % (zone, day, what), any(c["before"] for c in found_), found_)
    begin = midnight(day, zone)
    noon = datetime.datetime.fromisoformat(day + "T12:10").replace(tzinfo=zoneinfo.ZoneInfo(zone)).timestamp()
    check("%s %s equal elapsed time" % (zone, day), shown["all"],
          {"now": sum(p[2] for p in found if midnight(day, zone, 1) <= p[0] <= half), "before": sum(p[2] for p in found if begin <= p[0] <= noon)})


def main():
    for zone, day in CHANGES:
        with Daemon(workers=2) as d:
            found = points(day, zone)
            d.send("".join("put m %d %d host=%s\n" % (t, v, host) for t, host, v in found))
            d.sync()
            base = "http://127.0.0.1:%d/" % d.port
            one(base, zone, day, found)
            compared(base, zone, day, found)
    end("page totals")


if __name__ == "__main__":
    main()
