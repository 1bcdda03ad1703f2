#!/usr/bin/env python3
"""Rollups and histograms: written by line and HTTP, queried, over a restart and a kill; nothing of them shows elsewhere."""
import http.client
import json
import sys
import urllib.error

from tsdtest import Daemon

H = 3600
T0 = 1500000000 - 1500000000 % 86400  # a midnight UTC
failures = []


def check(what, want, seen):
    if want != seen:
        failures.append(what)
        print("DIFFERENT %s:\n  wanted %.600r\n  seen   %.600r" % (what, want, seen))


def ask(d, path, body=None):
    """(status, JSON or None)"""
    try:
        b = d.http(path, None if body is None else json.dumps(body).encode())
        return 200 if b else 204, json.loads(b) if b else None
    except urllib.error.HTTPError as e:
        return e.code, json.loads(e.read())


def dps(d, m, start=T0, end=T0 + 86400 - 1):
    """dps by the value of tag h ('' = none), offsets from T0 in seconds"""
    rows = d.api("/api/query?start=%d&end=%d&m=%s" % (start, end, m))
    return {r["metric"] + "/" + r["tags"].get("h", ""): {int(t) - T0: v for t, v in r["dps"].items()} for r in rows}


def rollup_lines():
    for h in ("a", "b"):
        k = 1 if h == "a" else 10
        for hour in range(4):
            t = T0 + hour * H
            yield "rollup 1h-sum r.m %d %d h=%s\n" % (t, k * (hour + 1) * 60, h)
            yield "rollup 1h-count r.m %d %d h=%s\n" % (t + 17, 60, h)
            yield "rollup 1h-max r.m %d %d h=%s\n" % (t, k * (hour + 2), h)
    for minute in range(0, 60, 10):
        yield "put r.m %d 7 h=a\n" % (T0 + 5 * H + minute * 60)
        yield "put r.raw %d 7 h=a\n" % (T0 + minute * 60)
    for hour in range(3):
        yield "rollup sum r.pre %d %d dc=x\n" % (T0 + hour * H, hour)
        yield "rollup 1h-sum:max r.pre %d %d dc=x\n" % (T0 + hour * H, hour + 100)


def rollup_queries(d, when):
    def same(what, m, want, **kw):
        check("%s: %s" % (when, what), want, dps(d, m, **kw))
    same("sum", "none:1h-sum:r.m", {"r.m/a": {0: 60, H: 120, 2 * H: 180, 3 * H: 240}, "r.m/b": {0: 600, H: 1200, 2 * H: 1800, 3 * H: 2400}})
    same("two hours", "none:2h-sum:r.m{h=a}", {"r.m/a": {0: 180, 2 * H: 420}})
    same("group", "sum:4h-sum:r.m", {"r.m/": {0: 6600}})
    same("average is sum by count", "none:2h-avg:r.m{h=a}", {"r.m/a": {0: 1.5, 2 * H: 3.5}})
    same("average of averages", "sum:4h-avg:r.m", {"r.m/": {0: 27.5}})
    same("its rate", "none:1h-avg:rate:r.m{h=a}", {"r.m/a": {H: 1 / H, 2 * H: 1 / H, 3 * H: 1 / H}})
    same("count adds counts", "none:4h-count:r.m{h=b}", {"r.m/b": {0: 240}})
    same("max", "max:4h-mimmax:r.m", {"r.m/": {0: 50}})
    same("filled", "none:1h-max-zero:r.m{h=a}", {"r.m/a": dict([(i * H, i + 2) for i in range(4)] + [(4 * H, 0)])}, end=T0 + 4 * H)
    same("min was not sent: the points", "none:1h-min:r.m", {"r.m/a": {5 * H: 7}})
    same("no fallback", "none:1h-min:rollup_nofallback:r.m", {})
    same("never", "none:1h-sum:rollup_raw:r.m", {"r.m/a": {5 * H: 42}})
    same("smaller intervals, then nothing", "none:1d-sum:rollup_fallback:r.m{h=a}", {"r.m/a": {0: 600}})
    same("an interval that does not fit", "none:90m-sum:r.m", {"r.m/a": {int(4.5 * H): 42}})
    same("conditions are on points", "none:1h-sum:r.m&where=value%3E4", {"r.m/a": {5 * H: 42}})
    same("hours of a zone that begin at half past", "none:1hc-sum:r.m{h=a}&timezone=Asia/Kolkata", {"r.m/a": {int(4.5 * H): 21, int(5.5 * H): 21}})
    same("no downsample", "count:r.m", {"r.m/a": {5 * H + i * 600: 1 for i in range(6)}})
    same("no rollups at all", "sum:1h-sum:r.raw", {"r.raw/a": {0: 42}})
    same("pre-aggregate", "sum:pre-agg:r.pre", {"r.pre/": {i * H: i for i in range(3)}})
    same("rollup of a pre-aggregate", "sum:1h-sum:r.pre{_aggregate=MAX}", {"r.pre/": {i * H: i + 100 for i in range(3)}})
    s, e = ask(d, "/api/query?start=%d&m=sum:1h-dev:r.m" % T0)
    check(when + ": dev", 400, s)
    rows = d.api("/api/query?start=%d&end=%d&m=sum:1h-sum:r.m&show_tsuids" % (T0, T0 + H))
    plain = d.api("/api/query?start=%d&end=%d&m=sum:r.m{h=a}&show_tsuids" % (T0, T0 + 6 * H))
    check(when + ": TSUIDs are those of the points", True, plain[0]["tsuids"][0] in rows[0]["tsuids"] and len(rows[0]["tsuids"]) == 2)
    check(when + ": by TSUID", {"r.m/a": {0: 60, H: 120}},
          {r["metric"] + "/" + r["tags"]["h"]: {int(t) - T0: v for t, v in r["dps"].items()} for r in
           d.api("/api/query?start=%d&end=%d&tsuid=sum:1h-sum:%s" % (T0, T0 + H, plain[0]["tsuids"][0]))})
    check(when + ": nothing shows in suggest", ["r.m", "r.pre", "r.raw"],
          [x for x in d.api("/api/suggest?type=metrics&max=100") if x[0] == "r" and x != "r.http"])
    check(when + ": nor by the mark of its names", ([], []),
          (d.api("/api/suggest?type=metrics&q=%01"), d.api("/api/tsd/names?kind=metric&q=%01r")["names"]))


def rollup_http(d):
    one = {"metric": "r.http", "timestamp": T0, "value": 5, "tags": {"h": "a"}, "interval": "1h", "aggregator": "SUM"}
    check("204", (204, None), ask(d, "/api/rollup", [one]))
    check("stored", {"r.http/a": {0: 5}}, dps(d, "none:1h-sum:r.http"))
    bad = [dict(one, interval=None), dict(one, aggregator=""), dict(one, interval="3h"), dict(one, timestamp=T0 * 1000),
           dict(one, aggregator="avg"), dict(one, tags={})]
    s, b = ask(d, "/api/rollup?details", [one] + bad)
    check("details", (400, 1, 6), (s, b["success"], b["failed"]))
    check("texts", ["Missing interval", "Missing aggregator", "No such rollup: 3h", "bad timestamp",
                    "Derived rollup aggregations are not allowed", "Missing tags"],
          [e["error"].split("=")[0].split(" (")[0] for e in b["errors"]])
    check("method", 405, ask(d, "/api/rollup")[0])


def histogram_lines():
    """E58 of docs/OPENTSDB.md, section 9, at T0 in two series whose halves add up to it; a second time of one of them."""
    yield "histogram h.m %d u=1:o=0:0,10=2:10,20=3:20,50=1 h=a\n" % T0
    yield "histogram h.m %d O=2:20,50=1:U=0:0,10=3 h=b\n" % T0
    yield "histogram h.m %d 0,10=1:10,20=1:20,50=1 h=a\n" % (T0 + 60)
    yield "histogram h.m %d 0,10=9:500,1000=7 h=a\n" % (T0 + 120)
    yield "histogram h.m %d 0,10=9:10,20=1 h=a\n" % (T0 + 120)  # takes the place of the one before
    yield "histogram h.m %d123 0,0.1=1 h=c\n" % (T0 + 180)
    yield "put h.m %d 77 h=a\n" % T0  # points are another thing


def histogram_queries(d, when):
    def same(what, m, want, **kw):
        check("%s: %s" % (when, what), want, dps(d, m, **kw))
    same("E58", "sum:percentiles[100,0.5,1,50,50.1,80,80.5]:h.m{}{h=a|b}",
         {"h.m_pct_%s/" % p: {0: v, 60: w, 120: u} for p, v, w, u in
          (("0.5", -1, -1, -1), ("1.0", 5, 5, 5), ("50.0", 5, 15, 5), ("50.1", 15, 15, 5), ("80.0", 15, 35, 5), ("80.5", 35, 35, 5), ("100.0", 35, 35, 15))})
    same("by tag", "sum:percentiles[95]:h.m{h=*}", {"h.m_pct_95.0/a": {0: 35, 60: 35, 120: 15}, "h.m_pct_95.0/b": {0: 35}, "h.m_pct_95.0/c": {180: 0.05000000074505806}})
    same("each series", "none:percentiles[95]:h.m{h=a|b}", {"h.m_pct_95.0/a": {0: 35, 60: 35, 120: 15}, "h.m_pct_95.0/b": {0: 35}})
    same("buckets", "sum:show-histogram-buckets:h.m{}{h=a|b}",
         {"h.m_" + k + "/": dict(zip((0, 60, 120), v)) for k, v in {
             "UNDERFLOW": (1, 0, 0), "OVERFLOW": (2, 0, 0), "0.0_10.0": (5, 1, 9), "10.0_20.0": (3, 1, 1), "20.0_50.0": (2, 1, 0),
             "500.0_1000.0": (0, 0, 0), "0.0_0.1": (0, 0, 0)}.items()})
    same("downsampled", "sum:1h-sum:percentiles[75]:h.m{}{h=a|b}", {"h.m_pct_75.0/": {0: 15}})
    same("the points", "sum:h.m{h=a}", {"h.m/a": {0: 77}})
    for m, text in (("avg:percentiles[50]:h.m", "Only NONE or SUM aggregation function supported for histogram query"),
                    ("sum:1h-avg:percentiles[50]:h.m", "Only SUM downsampling aggregation supported for histogram query"),
                    ("sum:percentiles[101]:h.m", "Invalid percentile parameters: 101")):
        s, b = ask(d, "/api/query?start=%d&m=%s" % (T0, m))
        check("%s: %s" % (when, m), (400, text), (s, b["error"]["message"]))
    check(when + ": a metric without histograms", [], d.api("/api/query?start=%d&m=sum:percentiles[50]:r.m" % T0))


def histogram_http(d):
    one = {"metric": "h.http", "timestamp": T0, "tags": {"h": "a"}, "buckets": {"0,10": 5, "10,20": "3", "20,50": 2}, "underflow": 1, "overflow": 2}
    check("204", (204, None), ask(d, "/api/histogram", [one]))
    # two buckets 1..2: 5 and 2..3: 300, underflow 0, overflow 1
    two = {"metric": "h.http", "timestamp": T0 + 60, "tags": {"h": "a"}, "id": 0, "value": "AAI/gAAAQAAAAAVAAAAAQEAAAKwCAAE="}
    check("binary", (204, None), ask(d, "/api/histogram", two))
    check("stored", {"h.http_pct_99.9/a": {0: 35, 60: 2.5}}, dps(d, "sum:percentiles[99.9]:h.http"))
    def echo(m):
        q = d.api("/api/query?start=%d&show_query&m=%s" % (T0, m))[0]["query"]
        return [q[k] for k in ("percentiles", "showHistogramBuckets", "histogramQuery", "preAggregate")]
    check("echo of percentiles", [[5, 99.9], False, True, False], echo("sum:percentiles[99.9,5]:h.http"))
    check("echo of buckets", [None, True, True, False], echo("sum:show-histogram-buckets:h.http"))
    b = d.api("/api/query?start=%d&m=sum:show-histogram-buckets:h.http" % T0)
    check("over- and underflow", [[1, 0], [2, 1]], [[r["dps"][str(T0 + t)] for t in (0, 60)] for r in b[:2]])
    def bad(**kw):
        return dict(one, **kw)
    s, b = ask(d, "/api/histogram?details", [bad(buckets={}), bad(buckets=None), bad(buckets={"0-10": 1}), bad(buckets={"0,10": -1}), bad(buckets={"0,x": 1}),
                                             bad(id=256, value="AA=="), bad(id=7, value="AA=="), bad(id=0, value="AAE="), bad(tags={})])
    check("details", (400, 0, 9), (s, b["success"], b["failed"]))
    none = "Histogram buckets cannot be null or empty if 'value' is empty."
    check("texts", [none, none, "Improperly formatted bounds: 0-10", "Improperly formatted bucket: -1", "Improperly formatted bounds: 0,x",
                    "Invalid type. Must be from 0 to 255.", "No codec is configured for this histogram's id", "Not a simple histogram in base64: AAE=",
                    "Missing tags"], [e["error"] for e in b["errors"]])


def histogram_seconds(d):
    """Histograms of one second are added in an answer with seconds, but not with compat."""
    def buckets():
        return d.api("/api/query?start=%d&end=%d&m=sum:show-histogram-buckets:h.s&arrays=true" % (T0, T0 + 60))[2]["dps"]
    d.send("histogram h.s %d100 0,10=1 h=a\nhistogram h.s %d900 0,10=2 h=a\n" % (T0, T0))
    d.sync()
    check("one second", [[T0, 3]], buckets())
    d.keys["compat"] = "opentsdb"
    d.restart()
    check("one second with compat", [[T0, 1], [T0, 2]], buckets())


def explained(d, when):
    """What reads rollups or histograms, and when the points are read after all."""
    for m, reads, scans in (("none:1h-sum:r.m", "rollups 1h-sum", 1), ("none:2h-avg:r.m", "rollups 1h-sum and 1h-count", 2), ("none:1h-min:r.m", "points", 1),
                            ("none:1h-sum:rollup_raw:r.m", "points", 1), ("sum:pre-agg:r.pre", "rollups of points over series", 1),
                            ("sum:1h-sum:r.pre{_aggregate=MAX}", "rollups 1h-sum:", 1), ("sum:percentiles[50]:h.m{h=a}", "histograms", 7)):
        x = d.api("/api/query/explain?start=%d&end=%d&m=%s" % (T0, T0 + 86399, m))["queries"][0]
        check("%s: explain %s" % (when, m), (reads, scans, True), (x["reads"], x["scans"], x["total"]["rows"] + x["total"]["summaries"] > 0))


def deletes(d):
    """Points, rollups and histograms go only if they are meant, and for good."""
    day = "start=%d&end=%d" % (T0, T0 + 86399)

    def counts(m, more="", method="GET"):
        c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
        c.request(method, "/api/delete?%s&m=%s%s" % (day, m, more))
        b = json.loads(c.getresponse().read())
        c.close()
        return b["deleted"], [[q[k]["count"] for k in ("points", "rollups", "histograms")] for q in b["queries"]]
    before = dps(d, "sum:percentiles[50]:h.m{h=*}")
    check("what would go", (False, [[6, 0, 0], [0, 0, 3]]), counts("sum:r.m{h=a}&m=sum:percentiles[50]:h.m{h=a}"))
    check("all kinds", (False, [[6, 12, 0], [1, 0, 5]]), counts("sum:r.m{h=a}&m=sum:h.m", "&kinds=all"))
    check("asking takes nothing", before, dps(d, "sum:percentiles[50]:h.m{h=*}"))
    check("histograms of a query of histograms", (True, [[0, 0, 3]]), counts("sum:percentiles[50]:h.m{h=a}", "", "DELETE"))
    left = {k: v for k, v in before.items() if not k.endswith("/a")}
    check("the others stay", left, dps(d, "sum:percentiles[50]:h.m{h=*}"))
    check("the points too", {"h.m/a": {0: 77}}, dps(d, "sum:h.m{h=a}"))
    check("no switch, no kind", (400, 400), (ask(d, "/api/delete?%s&m=sum:r.m&kinds=some" % day)[0], ask(d, "/api/delete?%s&m=sum:r.m&top=1" % day)[0]))
    check("rollups by a query", (True, [[0, 12, 0]]), counts("sum:r.m{h=b}", "&kinds=rollups", "DELETE"))
    check("rollups of b are gone", {"r.m/a": {0: 60, H: 120, 2 * H: 180, 3 * H: 240}}, dps(d, "none:1h-sum:r.m"))
    body = {"start": T0, "end": T0 + 86399, "delete": True, "kinds": "all", "queries": [{"metric": "r.pre", "aggregator": "sum"}]}
    check("by a body", 200, ask(d, "/api/query", body)[0])
    for when in ("now", "after a kill", "compacted"):
        check("pre-aggregates: " + when, {}, dps(d, "sum:pre-agg:r.pre"))
        check("histograms: " + when, left, dps(d, "sum:percentiles[50]:h.m{h=*}"))
        check("rollups: " + when, ["r.m/a"], sorted(dps(d, "none:1h-sum:r.m")))
        if when == "now":
            d.kill()
            d.conn = None
            d.start()
        else:
            d.flush("compact")


def main():
    with Daemon(workers=2, rollups="true", query_allow_delete="true") as d:
        d.send("".join(rollup_lines()) + "".join(histogram_lines()))
        d.sync()
        rollup_queries(d, "in memory")
        histogram_queries(d, "in memory")
        rollup_http(d)
        histogram_http(d)
        d.kill()
        d.start()
        rollup_queries(d, "after a kill")
        histogram_queries(d, "after a kill")
        d.flush("files")
        rollup_queries(d, "in files")
        histogram_queries(d, "in files")
        d.restart(workers=3)
        rollup_queries(d, "after a restart")
        histogram_queries(d, "after a restart")
        explained(d, "after a restart")
        deletes(d)
        histogram_seconds(d)
    with Daemon(workers=1, histograms_config="") as d:
        check("histograms off", (503, "Histogram storage has not been enabled."), (lambda s, b: (s, b["error"]["message"][:39]))(*ask(d, "/api/histogram", [])))
        s, b = ask(d, "/api/rollup?details", [{"metric": "m", "timestamp": T0, "value": 1, "tags": {"a": "b"}, "interval": "1h", "aggregator": "sum"}])
        check("off", "No rollup or aggregations were configured", b["errors"][0]["error"])
    print("%d failures" % len(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
