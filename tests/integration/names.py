#!/usr/bin/env python3
"""Names of a real daemon: what goes with a deleted metric, names that may not be, internal series, pages of searches, limits at their edge."""
import http.client
import json

from metakit import ask, check, end, holds, refused
from tsdtest import Daemon

T0 = 1500000000 - 1500000000 % 3600
RANGE = "start=%d&end=%d" % (T0 - 1, T0 + 7200)


def metrics(d):
    return ask(d, "GET", "/api/suggest?type=metrics&max=1000")[1]


def rollups(d):
    """A metric's rollups go with it and do not come back with its name; lookups show neither rollups nor histograms."""
    d.send("put ro.m %d 1 h=a\nput other.m %d 1 h=a\n" % (T0, T0))
    d.send("".join("rollup 1h-%s ro.m %d 60 h=a\n" % (how, T0) for how in ("sum", "count", "max")))
    d.send("histogram hi.m %d u=0:o=0:0,1.5=42 h=a\n" % T0)
    d.sync()
    rollup = "/api/query?%s&m=none:1h-sum:rollup_raw:ro.m" % RANGE
    check("points of the rollup", ask(d, "GET", "/api/query?%s&m=none:1h-sum:ro.m" % RANGE)[1][0]["dps"], {str(T0): 60})
    for how in ("m=*", "m=*{h=*}", "m=ro.m", "m=*&use_meta=true"):
        rows = ask(d, "GET", "/api/search/lookup?limit=100&" + how)[1]["results"]
        holds("lookup shows what clients named: " + how, {r["metric"] for r in rows} <= {"ro.m", "other.m", "hi.m"}, rows)
        holds("once each: " + how, len({r["tsuid"] for r in rows}) == len(rows), rows)
    holds("names of rollups are not suggested", set(metrics(d)) <= {"ro.m", "other.m", "hi.m"}, metrics(d))
    check("deleted", ask(d, "POST", "/api/uid/delete", {"metric": ["ro.m"]})[0], 200)
    check("gone", refused(ask(d, "GET", rollup))[0], 400)
    d.send("put ro.m %d 5 h=a\n" % (T0 + 3600))
    d.sync()
    check("the new metric has its own points alone", ask(d, "GET", "/api/query?%s&m=none:1h-sum:ro.m" % RANGE)[1][0]["dps"], {str(T0 + 3600): 5})
    holds("the old rollups are nobody's", "ro.m" in metrics(d) and not [m for m in metrics(d) if m not in ("ro.m", "other.m", "hi.m")], metrics(d))


def renames(d):
    """A name that may not be is refused for every kind, and nothing has changed."""
    for kind, old in (("metric", "other.m"), ("tagk", "h"), ("tagv", "a")):
        for bad in ("a b", "a=b", "x!", "", "\u00e4\u2028"):
            s, a = ask(d, "POST", "/api/uid/rename", {kind: old, "name": bad})
            holds("%s to %r" % (kind, bad), s == 400 and (not bad or a["result"] == "false" and "illegal character" in a["error"]), (s, a))
    check("all is as before", ask(d, "GET", "/api/search/lookup?m=other.m")[1]["results"][0]["tags"], {"h": "a"})
    check("a good name", ask(d, "POST", "/api/uid/rename", {"metric": "other.m", "name": "another.m"}), (200, {"result": "true"}))


def pages(d):
    """Pages of lookups and searches are parts of the whole, in its order."""
    d.send("".join("put page.m %d 1 h=p%02d\n" % (T0, i) for i in range(12)))
    d.sync()
    for path in ("/api/search/lookup?m=page.m", "/api/search/tsuids?query=metric=page.m", "/api/search/tsmeta?query=metric=page.m"):
        whole = ask(d, "GET", path + "&limit=100")[1]["results"]
        check("all of " + path, len(whole), 12)
        for start in (0, 1, 5, 11, 12, 13):
            a = ask(d, "GET", "%s&limit=4&start_index=%d" % (path, start))[1]
            check("%s from %d" % (path, start), (a["results"], a["startIndex"]), (whole[start:start + 4], start))
        joined = [r for start in range(0, 12, 5) for r in ask(d, "GET", "%s&limit=5&start_index=%d" % (path, start))[1]["results"]]
        check("joined pages of " + path, joined, whole)
    whole = ask(d, "POST", "/api/search/lookup", {"metric": "page.m", "limit": 100})[1]["results"]
    a = ask(d, "POST", "/api/search/lookup", {"metric": "page.m", "limit": 3, "startIndex": 7})[1]
    check("startIndex of a body", a["results"], whole[7:10])


def last(d):
    """The newest points of series by their ids."""
    rows = ask(d, "GET", "/api/search/lookup?m=page.m&limit=100")[1]["results"]
    ids = {r["tags"]["h"]: r["tsuid"] for r in rows}
    d.send("put page.m %d 7 h=p03\n" % (T0 + 60))
    d.sync()
    s, got = ask(d, "GET", "/api/query/last?tsuids=%s,%s&resolve=true&back_scan=0" % (ids["p03"], ids["p04"]))
    check("by parameter", (s, sorted((p["tags"]["h"], p["timestamp"], p["value"], p["tsuid"]) for p in got)),
          (200, [("p03", (T0 + 60) * 1000, "7", ids["p03"]), ("p04", T0 * 1000, "1", ids["p04"])]))
    s, got = ask(d, "POST", "/api/query/last", {"queries": [{"tsuids": [ids["p03"]]}], "resolveNames": False, "backScan": 0})
    check("by body", (s, [(p["timestamp"], p["value"], p["tsuid"], "tags" in p) for p in got]), (200, [((T0 + 60) * 1000, "7", ids["p03"], False)]))
    check("of no series", ask(d, "GET", "/api/query/last?tsuids=0000FF0000FF0000FF&back_scan=0")[0] in (200, 400), True)
    check("no id", ask(d, "GET", "/api/query/last?tsuids=xyz")[0], 400)


def edges(d):
    """tree_max_rules = 3: three rules are taken, the fourth is not, alone or in a list."""
    check("a tree", ask(d, "POST", "/api/tree", {"name": "t"})[0], 200)
    rule = {"treeId": 1, "level": 0, "type": "METRIC"}
    for order in range(3):
        check("rule %d" % order, ask(d, "POST", "/api/tree/rule", dict(rule, order=order))[0], 200)
    check("one more", ask(d, "POST", "/api/tree/rule", dict(rule, order=3))[0], 413)
    check("one of them again", ask(d, "POST", "/api/tree/rule", dict(rule, order=2, notes="n"))[0], 200)
    check("another tree", ask(d, "POST", "/api/tree", {"name": "u"})[0], 200)
    check("four at once", ask(d, "POST", "/api/tree/rules", [dict(rule, treeId=2, order=i) for i in range(4)])[0], 413)
    check("three at once", ask(d, "POST", "/api/tree/rules", [dict(rule, treeId=2, order=i) for i in range(3)])[0], 204)


def secrets(d):
    """What /api/stats/query shows of a request names no password and no cookie."""
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request("GET", "/api/query?%s&m=sum:page.m" % RANGE, headers={"Authorization": "Basic c2VjcmV0", "Cookie": "sid=c2VjcmV0", "Proxy-Authorization": "c2VjcmV0",
                                                                    "X-Shown": "this"})
    c.getresponse().read()
    c.close()
    text = json.dumps(ask(d, "GET", "/api/stats/query")[1])
    holds("secrets are masked", "c2VjcmV0" not in text and text.count("*******") == 3 and '"X-Shown": "this"' in text, text)


def main():
    with Daemon(workers=2, rollups="true", uid_allow_delete="true", uid_allow_rename="true", tree_max_rules="3", search="true") as d:
        rollups(d)
        renames(d)
        pages(d)
        last(d)
        edges(d)
        secrets(d)
    return end("names")


main()
