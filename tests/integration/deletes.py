#!/usr/bin/env python3
"""Deleting by query over HTTP: exactly the matched series and times, in memory, in files and after a restart; the switch; compat = opentsdb."""
import http.client
import json
import urllib.parse

from metakit import end, holds as check
from tsdtest import Daemon

T0 = 1500000000 - 1500000000 % 3600


def ask(d, method, path, body=None):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request(method, urllib.parse.quote(path, safe="/?&=:%"), json.dumps(body) if body is not None else None)
    r = c.getresponse()
    data = json.loads(r.read() or b"null")
    c.close()
    return r.status, data


def points(d, metric, tags="", start=T0 - 7200, end=T0 + 20000):
    """{host: {seconds: value}}"""
    s, rows = ask(d, "GET", "/api/query?start=%d&end=%d&m=none:%s%s" % (start, end, metric, tags))
    check("query of " + metric, s == 200, rows)
    return {r["tags"]["h"]: {int(t): v for t, v in r["dps"].items()} for r in rows if r["dps"]}


def put(d, metric, times, hosts="abc"):
    d.send("".join("put %s %d %d h=%s\n" % (metric, t, i, h) for h in hosts for i, t in enumerate(times)))
    d.sync()


def exact(d, where):
    """DELETE of one host's points 600..1200: nothing else goes, in memory and in files, before and after a restart."""
    metric = "del." + where
    times = range(T0, T0 + 7200, 60)
    put(d, metric, times)
    if where != "memory":
        d.flush("compact" if where == "compacted" else "files")
    before = points(d, metric)
    want = {h: {t: v for t, v in p.items() if h != "b" or not T0 + 600 <= t <= T0 + 4200} for h, p in before.items()}
    s, rows = ask(d, "DELETE", "/api/query?start=%d&end=%d&m=none:%s{h=b}" % (T0 + 600, T0 + 4200, metric))
    shown = {int(t): v for t, v in rows[0]["dps"].items()}
    check(where + ": answers what it deleted", s == 200 and shown == {t: v for t, v in before["b"].items() if t not in want["b"]}, rows)
    check(where + ": exactly these points are gone", points(d, metric) == want, points(d, metric))
    d.kill()
    d.conn = None
    d.start()
    check(where + ": after a kill", points(d, metric) == want)
    d.flush("compact")
    check(where + ": after compaction", points(d, metric) == want)
    put(d, metric, [T0 + 660], "b")
    want["b"][T0 + 660] = 0
    check(where + ": a new point lives", points(d, metric) == want)


def ways(d):
    put(d, "way", range(T0, T0 + 600, 60))
    s, rows = ask(d, "DELETE", "/api/query?start=%d&end=%d&m=none:way{h=a}" % (T0, T0 + 30))
    check("DELETE of a choice", s == 200 and T0 not in points(d, "way")["a"], rows)
    s, rows = ask(d, "POST", "/api/query", {"start": T0 + 60, "end": T0 + 119, "delete": True, "queries": [{"aggregator": "sum", "metric": "way"}]})
    check("body", s == 200 and rows[0]["dps"] == {str(T0 + 60): 3} and all(T0 + 60 not in p and T0 + 120 in p for p in points(d, "way").values()), rows)
    s, rows = ask(d, "DELETE", "/api/query?start=%d&end=%d&m=sum:1m-sum:way&m=none:del.memory{h=c}" % (T0, T0 + 7200))
    check("two metrics, all series", s == 200 and points(d, "way") == {} and "c" not in points(d, "del.memory") and "a" in points(d, "del.memory"), rows)
    s, rows = ask(d, "DELETE", "/api/query?start=%d&end=%d&m=sum:way" % (T0, T0 + 7200))
    check("nothing is left", s == 200 and rows == [], rows)
    s, rows = ask(d, "DELETE", "/api/query?start=%d&end=%d&m=sum:not.there" % (T0, T0 + 7200))
    check("unknown metric", s == 400, rows)
    s, rows = ask(d, "DELETE", "/api/query?start=%d&end=%d&m=sum:del.memory&by=day" % (T0, T0 + 7200))
    check("totals", s == 400, rows)
    lines = "".join("put ms.m %d %d h=a\n" % (T0 * 1000 + i, i) for i in range(10))
    d.send(lines)
    d.sync()
    s, rows = ask(d, "DELETE", "/api/query?start=%d&end=%d&ms=true&m=none:ms.m" % (T0 * 1000 + 3, T0 * 1000 + 5))
    s, rows = ask(d, "GET", "/api/query?start=%d&end=%d&ms=true&m=none:ms.m" % (T0 * 1000 - 1, T0 * 1000 + 9))
    check("milliseconds", sorted(rows[0]["dps"].values()) == [0, 1, 2, 6, 7, 8, 9], rows)


def many(d):
    """More series than one call to a worker takes."""
    d.send("".join("put many %d 1 h=h%d\n" % (T0 + k * 60, i) for i in range(9000) for k in range(2)))
    d.sync()
    s, rows = ask(d, "DELETE", "/api/query?start=%d&end=%d&m=sum:many" % (T0, T0 + 30))
    check("many series", s == 200 and rows[0]["dps"] == {str(T0): 9000}, rows)
    s, rows = ask(d, "GET", "/api/query?start=%d&end=%d&m=sum:many" % (T0 - 1, T0 + 3600))
    check("the other half stays", rows[0]["dps"] == {str(T0 + 60): 9000}, rows)


def switch(d):
    put(d, "sw", [T0])
    body = {"start": T0 - 1, "end": T0 + 1, "delete": True, "queries": [{"aggregator": "sum", "metric": "sw"}]}
    for method, path, data in (("DELETE", "/api/query?start=%d&end=%d&m=sum:sw" % (T0 - 1, T0 + 1), None), ("POST", "/api/query", body)):
        s, rows = ask(d, method, path, data)
        said = rows["error"]["message"] == "Bad request" and "tsd.http.query.allow_delete" in rows["error"]["details"] \
            if d.keys.get("compat") else "query_allow_delete = true" in rows["error"]["message"]
        check("%s without leave" % method, s == 400 and said, rows)
    s, rows = ask(d, "GET", "/api/query?start=%d&end=%d&m=sum:sw&method_override=delete" % (T0 - 1, T0 + 1))
    check("override without leave", s == (200 if d.keys.get("compat") else 400), rows)
    check("nothing was deleted", points(d, "sw") == {h: {T0: 0} for h in "abc"})


def ends(d):
    """A day without an end may mean itself or everything since: a delete does not guess. A misspelt end is no end."""
    put(d, "ends", [T0, T0 + 86400, T0 + 400 * 86400])
    before = points(d, "ends", end=T0 + 500 * 86400)
    body = {"start": "2017-07-14", "delete": True, "queries": [{"aggregator": "sum", "metric": "ends"}]}
    asked = [(method, "/api/delete?start=%s&m=sum:ends" % start, None) for method in ("GET", "DELETE") for start in ("2017-07-14", "2017/07", "2017", "yesterday")]
    asked += [("DELETE", "/api/query?start=2017/07/14&m=sum:ends", None), ("POST", "/api/query", body)]
    for method, path, data in asked:
        s, rows = ask(d, method, path, data)
        check("%s %s without an end" % (method, path), s == 400 and "the END of what is to be deleted is missing" in rows["error"]["message"], rows)
    s, rows = ask(d, "DELETE", "/api/delete?start=2017-07-14&edn=2017-07-14&m=sum:ends")
    check("misspelt end", s == 400 and rows["error"]["message"] == "Unknown parameter: edn; did you mean end?", rows)
    s, rows = ask(d, "GET", "/api/delete?start=%d&end=%d&m=sum:ends&until=now" % (T0, T0 + 1))
    check("unknown parameter", s == 400 and rows["error"]["message"] == "Unknown parameter: until", rows)
    check("nothing went", points(d, "ends", end=T0 + 500 * 86400) == before)
    s, rows = ask(d, "DELETE", "/api/delete?start=2017-07-14&end=2017-07-14&m=sum:ends&kinds=points&format=json&show_query")
    check("the day alone", s == 200 and points(d, "ends", end=T0 + 500 * 86400) == {h: {t: v for t, v in p.items() if t != T0} for h, p in before.items()}, rows)
    s, rows = ask(d, "DELETE", "/api/delete?start=%d&m=sum:ends" % (T0 + 1))
    check("a time of day needs no end", s == 200 and points(d, "ends", end=T0 + 500 * 86400) == {}, rows)


def whole_hours(d):
    put(d, "hours", [T0 - 60, T0, T0 + 1800, T0 + 3599, T0 + 3600])
    s, rows = ask(d, "DELETE", "/api/query?start=%d&end=%d&m=none:hours{h=a}" % (T0 + 1700, T0 + 1900))
    check("compat shows what was asked for", rows[0]["dps"] == {str(T0 + 1800): 2}, rows)
    check("compat deletes the hour", points(d, "hours")["a"] == {T0 - 60: 0, T0 + 3600: 4}, points(d, "hours"))


def main():
    with Daemon(workers=2, query_allow_delete="true") as d:
        for where in ("memory", "files", "compacted"):
            exact(d, where)
        ways(d)
        many(d)
        ends(d)
        d.restart()
        check("after a restart", points(d, "way") == {})
    with Daemon(workers=2) as d:
        switch(d)
    with Daemon(workers=1, compat="opentsdb", auto_create_metrics="true") as d:
        switch(d)
        d.keys["query_allow_delete"] = "true"
        d.restart()
        whole_hours(d)
        s, rows = ask(d, "GET", "/api/query?start=2017/07/14&m=sum:hours&method_override=delete&edn=1")
        check("compat needs no end", s == 200, rows)
    end("deletes")


if __name__ == "__main__":
    main()
