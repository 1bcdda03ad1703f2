#!/usr/bin/env python3
"""/api/tsd/metrics and /api/tsd/metric of a real daemon: figures that agree with what was put, in memory and in files, orders, pages, tags, what is refused."""
import http.client
import json
import urllib.parse

from metakit import check as same
from metakit import end, holds as check
from tsdtest import Daemon

T0 = 1700006400
MORE = 1100  # metrics, more than are looked at for an order


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


def pages(d):
    first = metrics(d, limit=2)
    same("first page", (names(first), first["more"], first["total"]), (["a.b", "cpu.idle"], True, 3))
    last = metrics(d, limit=2, offset=2)
    same("last page", (names(last), last["more"], last["total"]), (["cpu.user"], False, 3))
    same("second by points", names(metrics(d, sort="points", limit=1, offset=1)), ["cpu.idle"])
    same("behind the end", names(metrics(d, offset=100)), [])
    same("nothing fits", (names(metrics(d, match="none")), metrics(d, match="none")["total"]), ([], 0))


def refusals(d):
    for params, word in (({"sort": "read"}, "sort=read"), ({"limit": 0}, "limit=0"), ({"limit": 10001}, "limit=10001"), ({"offset": -1}, "offset=-1"),
                         ({"limits": 1}, "limits")):
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
    same("an order of a part", (by_points["partial"], by_points["more"], by_points["total"]), (True, True, MORE))
    same("by name nothing is left out", metrics(d, match="many")["partial"], False)
    wide = metrics(d, match="wide")
    m = wide["metrics"][0]
    check("an estimate", wide["estimated"] and m["estimated"] and m["series"] == 25000 and 20000 <= m["points"] <= 30000, m)
    one = ask(d, "/api/tsd/metric", metric="wide.m")
    same("exact numbers of values", [(t["tagk"], t["values"], len(t["example"])) for t in one["tags"]], [("host", 25000, 5)])


def main():
    with Daemon(workers=2) as d:
        d.send("".join("put cpu.user %d %d host=h%d dc=%s\n" % (T0 + i, i, h, ("par", "nyc")[h // 2]) for h in range(4) for i in range(200)))
        d.send("put cpu.idle %d500 1 host=h0\nput cpu.idle %d 1 host=h0\nput cpu.idle %d 1 host=h0\nput a.b %d 1 host=h0\n" %
               (T0, T0 + 60, T0 + 7200, T0 + 86400))
        d.sync()
        stored(d, "in memory")
        d.flush("files")
        stored(d, "in files")
        pages(d)
        refusals(d)
        bounds(d)
    with Daemon(workers=1, mode="wo") as d:
        same("metrics with mode = wo", ask(d, "/api/tsd/metrics")[0], 404)
        same("a metric with mode = wo", ask(d, "/api/tsd/metric", metric="x")[0], 404)
    end("metrics_list")


main()
