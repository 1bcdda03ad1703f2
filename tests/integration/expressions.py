#!/usr/bin/env python3
"""Functions and formulas of a real daemon: replies as they stand, errors with their status, limits, a client that goes away, clients of OpenTSDB."""
import json
import socket
import time
import urllib.parse

from metakit import ask, check, end, refused
from tsdtest import Daemon

T = 1356998400


def fill(d):
    lines = []
    for h, k in (("a", 1), ("b", 2)):
        for i in range(10):
            lines.append("put ex.load %d %s host=%s" % (T + 60 * i, k * i + 0.5, h))
            lines.append("put ex.hits %d %d host=%s,dc=x" % (T + 60 * i, k * i, h))
    lines = [s.replace(",", " ") for s in lines]
    d.send("\n".join(lines) + "\n")
    d.sync()


def gexp(d, exp, more=""):
    exps = exp if isinstance(exp, list) else [exp]
    query = "&".join("exp=" + urllib.parse.quote(e) for e in exps)
    return ask(d, "GET", "/api/query/gexp?start=%d&end=%d&%s%s" % (T, T + 130, query, more))


def functions(d, compat):
    status, rows = gexp(d, ["scale(sum:ex.hits{host=a},10)", "movingAverage(sum:ex.load{host=*}, 2)"])
    check("status", status, 200)
    check("results one after the other", [(r["metric"], r["tags"].get("host"), r["dps"]) for r in rows], [
        ("ex.hits", "a", {str(T): 0, str(T + 60): 10, str(T + 120): 20}),
        ("ex.load", "a", {str(T): 0.0, str(T + 60): 1.0, str(T + 120): 2.0}),
        ("ex.load", "b", {str(T): 0.0, str(T + 60): 1.5, str(T + 120): 3.5})])
    check("flags of a query", gexp(d, "absolute(sum:ex.hits{host=b})", "&arrays&ms")[1][0]["dps"],
          [[(T + 60 * i) * 1000, 2 * i] for i in range(3)])
    row = gexp(d, "divideSeries(sum:ex.load{host=a},sum:ex.load{host=a})")[1][0]
    check("shape of a union", sorted(row), sorted(["metric", "tags", "aggregateTags", "dps"] + (["annotations"] if compat else [])))
    check("x by x", row["dps"], {str(T + 60 * i): 1.0 for i in range(3)})
    check("no annotations wanted", "annotations" in gexp(d, "sum(sum:ex.load{host=a},sum:ex.load{host=b})", "&no_annotations")[1][0], False)
    for what, exp in (("no function", "nosuch(sum:ex.hits)"), ("no end", "scale(sum:ex.hits"), ("no metric", "absolute(sum:nosuch)"), ("no exp", "")):
        status, message = refused(gexp(d, exp))
        check(what, status, 400)
        check(what + " has a text", len(message) > 10)
    check("no exp at all", refused(ask(d, "GET", "/api/query/gexp?start=%d" % T)), (400, "Missing parameter <code>exp</code>"))
    check("not by POST", ask(d, "POST", "/api/query/gexp?start=%d&exp=absolute(sum:ex.hits)" % T, {})[0], 405)
    check("shifted", (gexp(d, "timeShift(sum:ex.hits{host=a},'1min')")[1][0]["dps"] if not compat else refused(gexp(d, "timeShift(sum:ex.hits{host=a},'1min')"))),
          {str(T + 60): 0, str(T + 120): 1} if not compat else (400, "unknown time unit=min'"))


def body(exprs, **more):
    b = {"time": {"start": str(T), "end": T + 130, "aggregator": "sum"},
         "filters": [{"id": "f", "tags": [{"type": "wildcard", "tagk": "host", "filter": "*", "groupBy": True}]}],
         "metrics": [{"id": "l", "metric": "ex.load", "filter": "f"}, {"id": "h", "metric": "ex.hits", "filter": "f", "fillPolicy": {"policy": "nan"}}],
         "expressions": [{"id": "e%d" % i, "expr": e} for i, e in enumerate(exprs)]}
    b.update(more)
    return b


def exp(d, b):
    return ask(d, "POST", "/api/query/exp", b)


def formulas(d, compat):
    status, reply = exp(d, body(["l * 2 + l"], outputs=[{"id": "e0", "alias": "thrice"}]))
    check("status", status, 200)
    check("the whole reply", reply["outputs"], [
        {"id": "e0", "alias": "thrice", "dps": [[(T + 60 * i) * 1000, 3 * i + 1.5, 6 * i + 1.5] for i in range(3)],
         "dpsMeta": {"firstTimestamp": T * 1000, "lastTimestamp": (T + 120) * 1000, "setCount": 3, "series": 2},
         "meta": [{"index": 0, "metrics": ["timestamp"]}, {"index": 1, "metrics": ["ex.load"], "commonTags": {"host": "a"}, "aggregatedTags": []},
                  {"index": 2, "metrics": ["ex.load"], "commonTags": {"host": "b"}, "aggregatedTags": []}]}])
    check("what was asked", reply["query"], {
        "name": None, "time": {"start": str(T), "end": str(T + 130), "timezone": None, "downsampler": None, "aggregator": "sum", "rate": False},
        "filters": [{"id": "f", "tags": [{"tagk": "host", "filter": "*", "group_by": True, "type": "wildcard"}], "explicitTags": False}],
        "metrics": [{"metric": "ex.load", "id": "l", "filter": "f", "aggregator": None, "timeOffset": None, "fillPolicy": None},
                    {"metric": "ex.hits", "id": "h", "filter": "f", "aggregator": None, "timeOffset": None, "fillPolicy": {"policy": "nan", "value": "NaN"}}],
        "expressions": [{"id": "e0", "expr": "l * 2 + l", "join": {"operator": "union", "useQueryTags": False, "includeAggTags": True}, "fillPolicy": None}],
        "outputs": [{"id": "e0", "alias": "thrice"}]})
    reply = exp(d, body(["l + h"]))[1]["outputs"][0]
    check("series without a partner", [r[1:] for r in reply["dps"]], [[i + 0.5, i, 2 * i + 0.5, 2 * i] if compat else ["NaN", i, "NaN", 2 * i] for i in range(3)])
    check("and their names", [(m["metrics"], m["commonTags"]) for m in reply["meta"][1:]],
          [(["ex.load"], {} if compat else {"host": h}) if i == 0 else (["ex.load" if compat else "ex.hits"], {"host": h, "dc": "x"}) for h in "ab" for i in (0, 1)])
    join = {"operator": "union", "useQueryTags": True}
    reply = exp(d, body([], expressions=[{"id": "e", "expr": "l - h", "join": join}]))[1]["outputs"][0]
    check("joined by the filters' tags", [r[1:] for r in reply["dps"]], [[0.5, 0.5]] * 3)
    check("both metrics", reply["meta"][1]["metrics"], ["ex.hits", "ex.load"])
    reply = exp(d, body([], expressions=None, metrics=[{"id": "l", "metric": "ex.load"}], time={"start": T + 61, "end": T + 130, "aggregator": "sum"}))[1]
    check("a metric", reply["outputs"][0]["dps"], [[(T + 60 * i) * 1000, 3 * i + 1.0] for i in (range(10) if compat else [2])])
    check("one row", (reply["outputs"][0]["dpsMeta"]["lastTimestamp"] if not compat else 0), (T + 120) * 1000 if not compat else 0)
    for policy, empty in (("previous", [0.5, 1.5]), ("zero", [0, 0]), ("nan", ["NaN", "NaN"])):
        time = {"start": T, "end": T + 130, "aggregator": "sum", "downsampler": {"interval": "30s", "aggregator": "avg", "fillPolicy": {"policy": policy}}}
        dps = exp(d, body([], expressions=None, metrics=[{"id": "l", "metric": "ex.load", "filter": "f", "fillPolicy": "nan"}], time=time))[1]["outputs"][0]["dps"]
        filled = [r[1] for r in dps if r[0] in ((T + 30) * 1000, (T + 90) * 1000)]
        check("buckets filled with %s" % policy, filled, [] if compat else empty)
    bad = 500 if compat else 400
    for what, b in (("no metric", body(["l + x"])), ("a circle", body([], expressions=[{"id": "x", "expr": "y"}, {"id": "y", "expr": "x"}])), ("no text", body(["l +"])),
                    ("no time", {"metrics": []}), ("no object", [1]), ("a contradiction", body(["l"], metrics=[{"id": "l", "metric": "ex.load", "fillPolicy": {"policy": "nan", "value": 3}}])),
                    ("previous without buckets", body(["l"], metrics=[{"id": "l", "metric": "ex.load", "fillPolicy": {"policy": "previous"}}]))):
        check(what, refused(exp(d, b))[0], bad)
    check("nothing", ask(d, "POST", "/api/query/exp")[0], bad)
    check("no such name", refused(exp(d, body(["l"], metrics=[{"id": "l", "metric": "nosuch"}]))), (400, "No such name for 'metrics': 'nosuch'"))
    check("no intersection", refused(exp(d, body([], expressions=[{"id": "e", "expr": "l + h", "join": {"operator": "intersection"}}])))[0], 400)
    check("not by GET", ask(d, "GET", "/api/query/exp")[0], 405)
    status, reply = exp(d, body(["l"], expressions=[{"id": "s", "expr": "t + 1"}, {"id": "t", "expr": "l * 2"}]))
    check("a formula in a formula", status, 400 if compat else 200)
    d1 = ask(d, "POST", "/api/query/exp?jsonp=cb", body(["l"]))[1]
    check("jsonp", isinstance(d1, dict) if compat else d1.startswith("cb("))


def away():
    """Limits, and a client that goes: the next one is served by a daemon with one job."""
    with Daemon(query_max_bytes="2m", query_max_running=1) as d:
        lines = "".join("put ex.big %d %d host=h%d\n" % (T + i, i, k) for k in range(4) for i in range(20000))
        d.send(lines)
        d.sync()
        big = {"time": {"start": T, "end": T + 30000, "aggregator": "none"}, "metrics": [{"id": "b", "metric": "ex.big"}],
               "expressions": [{"id": "e%d" % i, "expr": "b * %d" % i} for i in range(3)]}
        status, message = refused(ask(d, "POST", "/api/query/exp", big))
        check("too large", status, 413)
        check("and which key says so", "query_max_bytes" in message)
        status, message = refused(ask(d, "GET", "/api/query/gexp?start=%d&end=%d&exp=scale(scale(scale(none:ex.big,2),3),4)" % (T, T + 30000)))
        check("too large for functions", status, 413)
    with Daemon(query_max_running=1, query_reply_buffer_bytes="256K") as d:
        d.send(lines)
        d.sync()
        text = json.dumps(big)
        s = socket.create_connection(("127.0.0.1", d.port))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(("POST /api/query/exp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)).encode())
        check("it begins", s.recv(12), b"HTTP/1.1 200")
        s.close()
        until = time.monotonic() + 120
        while ask(d, "GET", "/api/query/gexp?start=%d&end=%d&exp=scale(sum:ex.big,2)" % (T, T + 9))[0] != 200 and time.monotonic() < until:
            time.sleep(0.05)
        status, rows = ask(d, "GET", "/api/query/gexp?start=%d&end=%d&exp=scale(sum:ex.big,2)" % (T, T + 9))
        check("the job of a client that went away has ended", (status, rows[0]["dps"][str(T + 1)]), (200, 8))


def main():
    for compat in (False, True):
        with Daemon(**({"compat": "opentsdb", "auto_create_metrics": "true"} if compat else {"http_jsonp": "true"})) as d:
            fill(d)
            functions(d, compat)
            formulas(d, compat)
    away()
    end("expressions")


main()
