#!/usr/bin/env python3
"""/api/tsd/metrics and /api/tsd/metric of a real daemon: figures that agree with what was put, in memory and in files, orders, pages, tags, what is refused."""
import http.client
import json
import time
import urllib.parse

from metakit import check as same
from metakit import end, holds as check
from tsdtest import Daemon

T0 = 1700006400
MORE = 1100  # metrics, more than the limits of main() permit to be sorted


def ask(d, path, **params):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request("GET", path + "?" + urllib.parse.urlencode(params))
    r = c.getresponse()
    data = json.loads(r.read())
    c.close()
    return data if r.status == 200 else (r.status, data["error"]["message"])


def metrics(d, **params):
    return ask(d, "/api/tsd/metrics", **params)


def figures(m):
    return [m[k] for k in ("metric", "series", "points", "first", "last", "estimated")]


def names(answer):
    return [m["metric"] for m in answer["metrics"]]


def stored(d, where):
    answer = metrics(d, match="CPU")
    same(where + ": members", sorted(answer), ["estimated", "metrics", "more", "partial", "total"])
    same(where + ": figures", [figures(m) for m in answer["metrics"]],
         [["cpu.idle", 1, 3, T0 * 1000 + 500, (T0 + 7200) * 1000, False], ["cpu.user", 4, 800, T0 * 1000, (T0 + 199) * 1000, False]])
    same(where + ": the rest", [answer[k] for k in ("more", "total", "estimated", "partial")], [False, 2, False, False])
    check(where + ": bytes", all(m["bytes"] > 0 for m in answer["metrics"]), answer)
    same(where + ": written last", names(metrics(d, sort="written")), ["a.b", "cpu.idle", "cpu.user"])
    for order in ("points", "series", "bytes"):
        same(where + ": by " + order, names(metrics(d, sort=order))[0], "cpu.user")
    one = ask(d, "/api/tsd/metric", metric="cpu.user")
    same(where + ": one metric", figures(one), figures(answer["metrics"][1]))
    same(where + ": its tags", sorted((t["tagk"], t["values"], t["example"]) for t in one["tags"]),
         [("dc", 2, ["par", "nyc"]), ("host", 4, ["h0", "h1", "h2", "h3"])])
    same(where + ": all tags", one["more"], False)


def reads(d):
    """How often queries have read a metric, and when last: once a query, however many of its parts read it."""
    same("never read", [set(m) & {"reads", "last_read"} for m in metrics(d)["metrics"]], [set()] * 3)
    before = int(time.time() * 1000)
    d.api("/api/query?start=%d&m=sum:cpu.user&m=max:cpu.user&m=sum:cpu.idle" % T0)
    d.api("/api/query?start=%d&m=sum:cpu.user" % T0)
    d.api("/api/query/gexp?start=%d&exp=scale(sum:cpu.user,2)" % T0)
    d.api("/api/query/explain?start=%d&m=sum:a.b" % T0)
    ask(d, "/api/query", start=T0, m="sum:no.such.metric")
    now = int(time.time() * 1000)
    found = {m["metric"]: m for m in metrics(d)["metrics"]}
    same("reads", {k: m.get("reads") for k, m in found.items()}, {"a.b": None, "cpu.idle": 1, "cpu.user": 3})
    check("last read", all(before <= found[k]["last_read"] <= now for k in ("cpu.idle", "cpu.user")) and found["cpu.idle"]["last_read"] <= found["cpu.user"]["last_read"], found)
    one = ask(d, "/api/tsd/metric", metric="cpu.user")
    same("of one metric", (one["reads"], one["last_read"]), (3, found["cpu.user"]["last_read"]))


def days(d):
    """Points of today against those of yesterday in as much time."""
    now = int(time.time() * 1000)
    today, yesterday = now - 2 * 3600000, now - 26 * 3600000
    d.send("".join("put day.m %d 1 host=h%d\n" % (at + i * 60000, h) for h in range(3) for at, n in ((yesterday - 60000, 1), (yesterday, 60), (yesterday + 3 * 3600000, 50), (today - 60000, 1), (today, 90))
                   for i in range(n)))
    d.sync()
    counted = lambda **more: [(m.get("points_today"), m.get("points_yesterday")) for m in metrics(d, match="day.m", **more)["metrics"]]  # noqa: E731
    same("days", counted(today=today, yesterday=yesterday), [(270, 180)])
    same("days, by points", counted(today=today, yesterday=yesterday, sort="points"), [(270, 180)])
    d.flush("files")
    same("days in files", counted(today=today, yesterday=yesterday), [(270, 180)])
    same("days that nobody wants", counted(), [(None, None)])
    same("a metric without points then", [(m["points_today"], m["points_yesterday"]) for m in metrics(d, match="a.b", today=today, yesterday=yesterday)["metrics"]], [(0, 0)])
    for params, word in (({"today": today}, "yesterday"), ({"today": "x", "yesterday": yesterday}, "today=x"), ({"today": yesterday, "yesterday": today}, "before"),
                         ({"today": now + 3600000, "yesterday": yesterday}, "three days"), ({"today": today, "yesterday": now - 4 * 86400000}, "yesterday=")):
        got = metrics(d, **params)
        check("days refused: %r" % params, isinstance(got, tuple) and got[0] == 400 and word in got[1], got)
    d.http("/api/query?start=%d&m=sum:day.m" % (yesterday - 3600000), method="DELETE")
    same("days after a delete", counted(today=today, yesterday=yesterday), [(0, 0)])


def pages(d):
    first = metrics(d, limit=2)
    same("first page", (names(first), first["more"], first["total"]), (["a.b", "cpu.idle"], True, 3))
    last = metrics(d, limit=2, offset=2)
    same("last page", (names(last), last["more"], last["total"]), (["cpu.user"], False, 3))
    same("second by points", names(metrics(d, sort="points", limit=1, offset=1)), ["cpu.idle"])
    same("behind the end", names(metrics(d, offset=100)), [])
    for pattern, want in (("*", ["a.b", "cpu.idle", "cpu.user"]), ("c*", ["cpu.idle", "cpu.user"]), ("*.?", ["a.b"]), ("C*", []), ("cpu.user", ["cpu.user"]), ("cpu", []),
                          ("*u*r", ["cpu.user"]), ("???", ["a.b"]), ("cpu.*", ["cpu.idle", "cpu.user"]), ("*cpu*i*e*", ["cpu.idle"]), ("**r", ["cpu.user"])):
        same("pattern " + pattern, (names(metrics(d, pattern=pattern)), metrics(d, pattern=pattern)["total"]), (want, len(want)))
    same("a pattern before the limit", (names(metrics(d, pattern="*r", limit=1)), metrics(d, pattern="*r", limit=1)["more"]), (["cpu.user"], False))
    same("a pattern and a part", names(metrics(d, pattern="c*", match="IDLE")), ["cpu.idle"])
    same("a pattern before the order", names(metrics(d, pattern="*.?*e*", sort="points")), ["cpu.user", "cpu.idle"])
    same("nothing fits", (names(metrics(d, match="none")), metrics(d, match="none")["total"]), ([], 0))


def own(d):
    """own=false: the metrics of the daemon itself are left out before the limit is applied."""
    d.send("put tsd.own.m %d 1 host=a\nput tsdx.m %d 1 host=a\n" % (T0, T0))
    d.sync()
    both = metrics(d, match="tsd")
    same("with its own", (names(both), both["total"]), (["tsd.own.m", "tsdx.m"], 2))
    same("own=true", names(metrics(d, match="tsd", own="true")), names(both))
    others = metrics(d, match="tsd", own="false", limit=1)
    same("own=false", (names(others), others["total"], others["more"]), (["tsdx.m"], 1, False))
    d.http("/api/query?start=%d&m=sum:tsd.own.m" % (T0 - 10), method="DELETE")
    d.http("/api/query?start=%d&m=sum:tsdx.m" % (T0 - 10), method="DELETE")


def refusals(d):
    for params, word in (({"sort": "read"}, "sort=read"), ({"limit": 0}, "limit=0"), ({"limit": 10001}, "limit=10001"), ({"offset": -1}, "offset=-1"),
                         ({"limits": 1}, "limits"), ({"own": "no"}, "own=no"), ({"pattern": "*" * 1001}, "pattern")):
        got = metrics(d, **params)
        check("refused: %r" % params, isinstance(got, tuple) and got[0] == 400 and word in got[1], got)
    same("no name", ask(d, "/api/tsd/metric")[0], 400)
    same("unknown name", ask(d, "/api/tsd/metric", metric="none"), (400, "there is no metric none"))


def bounds(d):
    """What is more than the limits is estimated, or not looked at, and the answer says so."""
    d.send("".join("put many.m%04d %d 1 host=a\n" % (i, T0) for i in range(MORE)))
    d.send("".join("put wide.m %d 1 host=h%d\n" % (T0, i) for i in range(25000)))
    d.sync()
    by_points = metrics(d, match="many", sort="points")
    same("an order of a part", [by_points[k] for k in ("partial", "sorted", "more", "total")], [True, 1000, True, MORE])
    d.send("put many.m1099 %d 1 host=a\n" % (T0 + 1))
    d.sync()
    same("the last one in order among a part", names(metrics(d, match="many.m10", sort="points", limit=1)), ["many.m1099"])
    same("it is not looked at among all", names(metrics(d, match="many", sort="points", limit=1)), ["many.m0000"])
    r = d.run("metrics", "many.m10*9", "-n", "3", "-p", str(d.port))
    same("tsd metrics chooses names before its limit", ([line.split()[0] for line in r.stdout.splitlines()[1:]], r.stderr),
         (["many.m1009", "many.m1019", "many.m1029"], "tsd: there are more metrics: --limit is 3\n"))
    same("by name nothing is left out", metrics(d, match="many")["partial"], False)
    wide = metrics(d, match="wide")
    m = wide["metrics"][0]
    check("an estimate", wide["estimated"] and m["estimated"] and m["series"] == 25000 and 20000 <= m["points"] <= 30000, m)
    one = ask(d, "/api/tsd/metric", metric="wide.m")
    same("exact numbers of values", [(t["tagk"], t["values"], len(t["example"])) for t in one["tags"]], [("host", 25000, 5)])


def limits(d):
    """Keys: no point is read to count, three series have their tags looked at, ten points of days are read; the default sorts more than a thousand metrics."""
    now = int(time.time())
    d.send("".join("put many.m%04d %d 1 host=a\n" % (i, T0 + j) for i in range(MORE) for j in range(1 + (i == MORE - 1))))
    d.send("".join("put tags.m %d 1 host=h%d\n" % (now - 60, i) for i in range(5)))
    d.send("".join("put day.m %d 1 host=a\n" % (now - i) for i in range(11)))
    d.sync()
    found = metrics(d, match="many", sort="points", limit=1)
    same("an order of all", (names(found), found["partial"], found["sorted"]), (["many.m1099"], False, MORE))
    same("nothing is counted", found["estimated"], True)
    one = ask(d, "/api/tsd/metric", metric="tags.m")
    same("tags of three series", ([t["values"] for t in one["tags"]], one["more"]), ([3], True))
    days_ = {"today": (now - 3600) * 1000, "yesterday": (now - 90000) * 1000}
    same("days of few points only", [("points_today" in metrics(d, match=m, **days_)["metrics"][0]) for m in ("tags.m", "day.m")], [True, False])


def main():
    with Daemon(workers=2, query_allow_delete="true", metrics_max_sorted="1000", metrics_max_series="20000") as d:
        d.send("".join("put cpu.user %d %d host=h%d dc=%s\n" % (T0 + i, i, h, ("par", "nyc")[h // 2]) for h in range(4) for i in range(200)))
        d.send("put cpu.idle %d500 1 host=h0\nput cpu.idle %d 1 host=h0\nput cpu.idle %d 1 host=h0\nput a.b %d 1 host=h0\n" %
               (T0, T0 + 60, T0 + 7200, T0 + 86400))
        d.sync()
        stored(d, "in memory")
        d.flush("files")
        stored(d, "in files")
        reads(d)
        pages(d)
        refusals(d)
        bounds(d)
        days(d)
        own(d)
    with Daemon(workers=2, metrics_max_points="0", metrics_max_tag_series="3", metrics_max_day_points="10") as d:
        limits(d)
    with Daemon(workers=1, mode="wo") as d:
        same("metrics with mode = wo", ask(d, "/api/tsd/metrics")[0], 404)
        same("a metric with mode = wo", ask(d, "/api/tsd/metric", metric="x")[0], 404)
    end("metrics_list")


main()
