#!/usr/bin/env python3
"""Thinned answers of a real daemon against plain Python: the exact first, lowest, highest and last point of each column, figures of all points, every
form of answers, bytes on the wire, refusals; max_series."""
import csv
import http.client
import gzip
import io
import json
import math
import random
import shutil
import sys
import urllib.error
import urllib.parse
from fractions import Fraction

from metakit import ask, check, end, holds, refused
from tsdtest import Daemon

T = 1500000000
SPAN = 86400
seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 30)
rng = random.Random(seed)
print("seed %d" % seed)


def columns(points, start_ms, end_ms, n):
    """What M4 keeps of [(ms, value)], a value of None being none."""
    out = []
    by_column = {}
    for p in points:
        by_column.setdefault((p[0] - start_ms) * n // (end_ms - start_ms + 1), []).append(p)
    for c in sorted(by_column):
        all_points = by_column[c]
        real = [p for p in all_points if p[1] is not None]
        keep = {all_points[0][0], all_points[-1][0]}
        if real:
            keep |= {min(real, key=lambda p: p[1])[0], max(real, key=lambda p: p[1])[0]}  # the first one of several
        out += [p for p in all_points if p[0] in keep]
    return out


def figures(points):
    real = [v for _, v in points if v is not None]
    if not real:
        return {"count": 0, "min": None, "max": None, "avg": None, "sum": None, "first": None, "last": None}
    exact = sum(Fraction(v) for v in real)
    total = int(exact) if all(isinstance(v, int) for v in real) else float(exact)
    return {"count": len(real), "min": min(real), "max": max(real), "avg": float(exact / len(real)), "sum": total, "first": real[0], "last": real[-1]}


def query(d, m, start=T, end=T + SPAN, **more):
    params = [("start", start), ("end", end), ("m", m)] + list(more.items())
    return "/api/query?" + urllib.parse.urlencode(params)


def dps(row):
    return [(t, None if v == "NaN" or v is None else v) for t, v in row["dps"]]


def fill(d):
    """Series of every kind: integers, decimals, both, with gaps, constant, a single point. Returns {name: [(ms, value)]}."""
    all_points = {}
    for name in ("int", "dec", "mixed", "gaps", "flat", "one"):
        points, at = [], T * 1000
        while at < (T + SPAN) * 1000:
            number = rng.randrange(-1000, 1000) if name in ("int", "gaps") or (name == "mixed" and rng.random() < 0.5) else rng.randrange(-9999, 9999) / 8
            points.append((at, 7 if name == "flat" else number))
            at += rng.randrange(1, 60000) if name != "gaps" or rng.random() < 0.99 else rng.randrange(1, 7200000)
            if name == "one":
                break
        all_points[name] = points
        d.send("".join("put thin.data %d %r kind=%s\n" % (t, v, name) for t, v in points))
    d.sync()
    return all_points


def exact(d, stored):
    for name, points in stored.items():
        for n in (1, 2, 3, rng.randrange(4, 100), 1000, 10000):
            start, stop = (T * 1000, (T + SPAN) * 1000) if n != 3 else (T * 1000 + rng.randrange(10 ** 7), (T + SPAN) * 1000 - rng.randrange(10 ** 7))
            here = [p for p in points if start <= p[0] <= stop]
            rows = d.api(query(d, "none:thin.data{kind=%s}" % name, start, stop, thin=n, ms="true", arrays="true"))
            if not rows:  # the only hour with points is not read
                check("%s: nothing in the range" % name, here, [])
                continue
            seen = [(t, v) for t, v in rows[0]["dps"]]
            check("%s in %d columns" % (name, n), seen, columns(here, start, stop, n))
            check("%s in %d columns: integers stay" % (name, n), [type(v) for _, v in seen], [type(v) for _, v in columns(here, start, stop, n)])
            check("%s in %d columns: figures" % (name, n), rows[0]["figures"], figures(here))
    rows = d.api(query(d, "none:thin.data{kind=int}", ms="true", arrays="true"))
    check("no figures unless requested", "figures" in rows[0], False)
    rows = d.api(query(d, "none:thin.data{kind=int}", ms="true", arrays="true", figures="true"))
    check("figures alone leave all points", [(t, v) for t, v in rows[0]["dps"]], stored["int"])
    check("figures alone", rows[0]["figures"], figures(stored["int"]))


def computed(d):
    """Buckets with gaps, groups, rates, functions: thinned is what would be answered without."""
    shapes = ["sum:10m-avg-nan:thin.data{kind=gaps}", "sum:10m-max-null:thin.data{kind=gaps}", "avg:1m-avg:thin.data{kind=*}", "sum:thin.data",
              "sum:rate:thin.data{kind=int}", "max:5m-count-zero:thin.data{kind=literal_or(int|gaps)}"]
    for m in shapes:
        whole = d.api(query(d, m, ms="true", arrays="true"))
        thinned = d.api(query(d, m, ms="true", arrays="true", thin=50))
        check("%s: outputs" % m, len(thinned), len(whole))
        for a, b in zip(whole, thinned):
            check("%s: tags" % m, b["tags"], a["tags"])
            check("%s: points" % m, dps(b), columns(dps(a), T * 1000, (T + SPAN) * 1000, 50))
            check("%s: figures" % m, b["figures"], figures(dps(a)))
    exp = "exp=" + urllib.parse.quote("scale(sum:5m-avg:thin.data{kind=*},3)")
    path = "/api/query/gexp?start=%d&end=%d&ms&arrays&" % (T, T + SPAN)
    for a, b in zip(d.api(path + exp), d.api(path + exp + "&thin=20")):
        check("a function", dps(b), columns(dps(a), T * 1000, (T + SPAN) * 1000, 20))
        check("a function: figures", b["figures"], figures(dps(a)))


def body(**more):
    return dict({"start": T, "end": T + SPAN, "msResolution": True, "queries": [{"aggregator": "none", "metric": "thin.data", "tags": {"kind": "mixed"}}]}, **more)


def forms(d, stored):
    want = columns(stored["mixed"], T * 1000, (T + SPAN) * 1000, 30)
    m = "none:thin.data{kind=mixed}"
    check("a body", [(int(t), v) for t, v in d.api("/api/query", body(thin=30))[0]["dps"].items()], want)
    check("a body with a text", d.api("/api/query", body(thin="30"))[0]["figures"], figures(stored["mixed"]))
    check("a body with figures", d.api("/api/query", body(figures=True))[0]["figures"], figures(stored["mixed"]))
    rows = list(csv.reader(io.StringIO(d.http(query(d, m, thin=30, ms="true", format="csv")).decode())))[1:]
    check("csv", [(int(r[1]), float(r[2])) for r in rows], [(t, float(v)) for t, v in want])
    for form in ("csv-tags", "csv-wide"):
        rows = d.http(query(d, m, thin=30, ms="true", format=form)).decode().splitlines()[1:]
        check(form, len(rows), len(want))
    line = json.loads(d.http(query(d, m, thin=30, ms="true", arrays="true", format="ndjson")))
    check("ndjson", ([tuple(p) for p in line["dps"]], line["figures"]), (want, figures(stored["mixed"])))
    rows = [json.loads(s) for s in d.http(query(d, m, thin=30, ms="true", format="ndjson-points")).splitlines()]
    check("ndjson-points", [(r["timestamp"], r["value"]) for r in rows], want)
    rows = d.http(query(d, m, thin=30, ms="true", times="epoch", format="text")).decode().splitlines()
    check("text", [int(r.split()[1]) for r in rows], [t for t, _ in want])
    words = ("query", str(T), str(T + SPAN), "none", "thin.data", "kind=mixed", "--thin", "30", "--ms", "--format", "json", "--port", str(d.port))
    answer = json.loads(d.run(*words).stdout)
    check("the command", ([(int(t), v) for t, v in answer[0]["dps"].items()], answer[0]["figures"]), (want, figures(stored["mixed"])))


def refusals(d):
    m = "none:thin.data{kind=int}"
    for thin in ("0", "-1", "10001", "x", ""):
        status, message = refused(ask(d, "GET", query(d, m, thin=thin)))
        check("thin=%s" % thin, (status, "1 to 10000" in message), (400, True))
    cases = [(query(d, "sum:thin.data", thin=10, by="day"), "not for totals"), (query(d, "sum:thin.data", max_series=10, by="day"), "not for totals"),
             (query(d, m, figures="true", format="csv"), "json and ndjson"), (query(d, m, max_series=0), "max_series=0"),
             ("/api/query/last?timeseries=thin.data&thin=10", "Unknown parameter: thin"),
             (query(d, m, thin=10).replace("/api/query", "/api/scan"), "leave out")]
    for path, text in cases:
        status, message = refused(ask(d, "GET", path))
        check(path, (status, text in message), (400, True))
    status, message = refused(ask(d, "POST", "/api/query/last", {"queries": [{"metric": "thin.data"}], "thin": 5}))
    check("a body of last", (status, "newest points" in message), (400, True))
    status, message = refused(ask(d, "DELETE", query(d, m, thin=10)))
    check("a delete", (status, "A delete takes all points" in message), (400, True))
    exp = {"time": {"start": T, "aggregator": "sum"}, "metrics": [{"id": "a", "metric": "thin.data"}], "outputs": [{"id": "a"}]}
    check("a formula", ask(d, "POST", "/api/query/exp", exp)[0], 200)
    for name, v in (("thin", 10), ("max_series", 1)):
        status, message = refused(ask(d, "POST", "/api/query/exp", dict(exp, **{name: v})))
        check("a formula with %s" % name, (status, message.split(":")[0]), (400, "/api/query/exp does not know %s" % name))
    p = d.run("query", str(T), "sum", "thin.data", "--thin", "20000", "--port", str(d.port), check=False)
    check("the command refuses", (p.returncode, "1 to 10000" in p.stderr), (2, True))


def old_path(d):
    """/q: what is thinned and left out is neither counted nor drawn, and a picture's points count in the account of the query."""
    def q(m, form, **more):
        words = urllib.parse.urlencode([("start", T), ("end", T + SPAN), ("m", m)] + list(more.items())) + "&" + form
        try:
            return 200, d.http("/q?" + words)
        except urllib.error.HTTPError as e:
            return e.code, e.read()

    m = "none:thin.data{kind=int}"
    whole = json.loads(q(m, "json")[1])["plotted"]  # /q has whole seconds: those of one second are a single point
    want = len(d.api(query(d, m, thin=30))[0]["dps"])
    check("/q json, thinned", json.loads(q(m, "json", thin=30)[1])["plotted"], want)
    check("/q ascii, thinned", len(q(m, "ascii", thin=30)[1].splitlines()), want)
    check("/q json, one series", json.loads(q("none:thin.data{kind=flat|int}", "json", max_series=1)[1])["plotted"], whole)
    for form in ("json", "png&json", "ascii&json"):
        status, body = q(m, form, figures="true")
        check("/q figures: " + form, (status, "figures" in json.loads(body)["err"]), (400, True))
    if not shutil.which("gnuplot"):
        print("no gnuplot: pictures are not tested")
        return
    whole = q("none:thin.data{kind=int|flat}", "png")[1]
    check("a picture of one series", q("none:thin.data{kind=int|flat}", "png", max_series=1)[1] != whole, True)
    check("a picture of two columns", q("none:thin.data{kind=int|flat}", "png", thin=2)[1] != whole, True)
    d.send("".join("put thin.long %d %d.125 a=b\n" % (T + i // 4, i) for i in range(0, 4 * SPAN, 4)))
    d.sync()
    d.keys["query_max_bytes"] = "3M"
    d.restart()
    status, body = q("none:thin.long", "png&json")
    check("a picture beyond query_max_bytes", (status, "query_max_bytes" in body.decode(errors="replace")), (413, True))
    check("and thinned", (q("none:thin.long", "png", thin=800)[0], q("none:thin.long", "json")[0]), (200, 200))


def many(d):
    d.send("".join("put thin.many %d %d host=h%03d\n" % (T, i, i) for i in range(250)))
    d.sync()
    whole = d.api(query(d, "sum:thin.many{host=*}"))
    check("all", len(whole), 250)
    rows = d.api(query(d, "sum:thin.many{host=*}", max_series=100, show_summary="true"))
    check("the first ones", rows[:-1], whole[:100])
    check("and how many there are", (rows[-1]["of"], "statsSummary" in rows[-1]), (250, True))
    check("no summary unless requested", d.api(query(d, "sum:thin.many{host=*}", max_series=100)), whole[:100])
    check("fewer than the limit", d.api(query(d, "sum:thin.many{host=*}", max_series=300, show_summary="true"))[-1]["of"], 250)
    check("no number without max_series", "of" in d.api(query(d, "sum:thin.many{host=*}", show_summary="true"))[-1], False)
    two = {"start": T, "queries": [{"aggregator": "sum", "metric": "thin.many", "tags": {"host": "*"}}] * 1 +
           [{"aggregator": "none", "metric": "thin.data"}], "max_series": 252, "showSummary": True}
    rows = d.api("/api/query", two)
    check("of several queries together", ([r.get("metric") for r in rows[248:]], rows[-1]["of"]),
          (["thin.many"] * 2 + ["thin.data"] * 2 + [None], 256))
    lines = d.http(query(d, "sum:thin.many{host=*}", max_series=3, format="csv")).splitlines()
    check("csv", len(lines), 4)
    p = d.run("query", str(T), str(T + 10), "sum", "thin.many", "host=*", "--max-series", "7", "--port", str(d.port))
    check("the command", len(p.stdout.splitlines()), 7)


def million(d):
    """A million points, thinned for 1,000 pixels: at most 64 KB on the wire, exact extremes."""
    n, step = 1000000, 60
    value, points = 50.0, []
    for i in range(n):
        value += rng.gauss(0, 0.7) + (50 - value) * 0.001
        points.append((T + step * i, round(value + 10 * math.sin(i / 229.0), 2)))
    for i in range(0, n, 20000):
        d.send("".join("put thin.million %d %.2f host=a\n" % p for p in points[i:i + 20000]))
        d.sync()
    stop = T + step * n - 1
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request("GET", query(d, "none:thin.million", T, stop, thin=1000, arrays="true"), headers={"Accept-Encoding": "gzip"})
    r = c.getresponse()
    data = r.read()
    c.close()
    check("the answer is compressed", r.getheader("Content-Encoding"), "gzip")
    row = json.loads(gzip.decompress(data))[0]
    print("a million points in 1,000 columns: %d points, %d bytes, %d compressed" % (len(row["dps"]), len(gzip.decompress(data)), len(data)))
    holds("at most 64 KB", len(data) <= 65536, len(data))
    want = columns([(t * 1000, v) for t, v in points], T * 1000, stop * 1000, 1000)
    check("a million: points", [(t * 1000, v) for t, v in row["dps"]], want)
    check("a million: figures", row["figures"], figures([(t, v) for t, v in points]))


with Daemon(query_allow_delete="true") as d:
    kept = fill(d)
    exact(d, kept)
    d.flush("disk")
    exact(d, kept)
    computed(d)
    forms(d, kept)
    refusals(d)
    many(d)
    million(d)
    old_path(d)
end("thinned answers")
