#!/usr/bin/env python3
"""What tsd answers and OpenTSDB does not: forms of answers, breakdowns, fill policies, newest points, the best series, conditions."""
import csv
import http.client
import io
import json
import time

from metakit import end, holds as check
from tsdtest import Daemon

T0 = 1500000000 - 1500000000 % 86400


def iso(t):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))


def ask(d, path, body=None, accept=None):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request("POST" if body is not None else "GET", path, json.dumps(body) if body is not None else None, {"Accept": accept} if accept else {})
    r = c.getresponse()
    data = r.read().decode()
    c.close()
    return r.status, r.getheader("Content-Type").split(";")[0], data


def rows(text):
    return list(csv.reader(io.StringIO(text)))


def forms(d):
    """format= and Accept, GET and POST."""
    q = "/api/query?start=%d&end=%d&m=sum:temp{s=*}" % (T0, T0 + 7200)
    body = {"start": T0, "end": T0 + 7200, "queries": [{"metric": "temp", "aggregator": "sum", "tags": {"s": "*"}}]}
    want = {}
    for name, type_ in (("csv", "text/csv"), ("ndjson", "application/x-ndjson"), ("json", "application/json"), ("text", "text/plain")):
        status, seen, want[name] = ask(d, q + "&format=" + name)
        check("type of " + name, (status, seen) == (200, type_), seen)
        check(name + " by POST", ask(d, "/api/query?format=" + name, body) == (200, type_, want[name]))
    check("csv", rows(want["csv"])[:2] == [["metric", "timestamp", "value", "tags"], ["temp", str(T0), "1", "s=a"]], want["csv"])
    check("ndjson", [json.loads(l) for l in want["ndjson"].splitlines()] == json.loads(want["json"]), want["ndjson"])
    check("text", want["text"].splitlines()[0] == "temp %s 1 {s=a}" % iso(T0), want["text"])
    for accept, name in (("text/csv", "csv"), ("application/x-ndjson", "ndjson"), ("text/html, text/csv;q=0.9, */*;q=0.1", "csv"),
                         ("*/*", "json"), ("application/json, text/csv", "json"), ("text/plain", "json")):
        check("Accept: " + accept, ask(d, q, None, accept)[2] == want[name] and ask(d, "/api/query", body, accept)[2] == want[name])
    check("format before Accept", ask(d, q + "&format=json", None, "text/csv")[2] == want["json"])
    status, type_, text = ask(d, q + "&format=xml")
    check("no such format", status == 400 and type_ == "application/json" and "No such format" in text, text)
    status, type_, text = ask(d, q.replace("temp", "none"), None, "text/csv")
    check("an error is JSON", status == 400 and "No such name" in json.loads(text)["error"]["message"], text)


def breakdowns(d):
    """by=, GET and POST, in all forms."""
    want = [["date", "hour", "s", "temp"], ["2017-07-14", "00", "a", "3"], ["2017-07-14", "00", "b", "10"], ["2017-07-14", "01", "a", "5"]]
    q = "/api/query?start=%d&end=%d&m=sum:temp&by=hour,s" % (T0, T0 + 7200)
    body = {"start": T0, "end": T0 + 7200, "queries": [{"metric": "temp", "aggregator": "sum"}], "by": ["hour", "s"]}
    check("by as CSV", rows(ask(d, q, None, "text/csv")[2]) == want, ask(d, q, None, "text/csv"))
    check("by as CSV, POST", rows(ask(d, "/api/query", body, "text/csv")[2]) == want)
    check("by as text", ask(d, q + "&format=text")[2].splitlines()[0] == "2017-07-14 00 a 3")
    heading = ask(d, q + "&compare=1d&format=text")[2].splitlines()[0].split()
    check("names of several values in text", heading[:2] == ["#", "date"] and heading[-3:] == ["before", "difference", "ratio"])
    got = json.loads(ask(d, "/api/query", body)[2])
    check("by as JSON, POST", [[r["date"], r["hour"], r["tags"]["s"], str(r["value"])] for r in got] == want[1:], got)
    check("the same by GET", json.loads(ask(d, q)[2]) == got)
    check("ndjson", [json.loads(l) for l in ask(d, q + "&format=ndjson")[2].splitlines()] == got)
    body["by"], body["tz"] = "day", "Asia/Tokyo"
    check("a day of a zone", rows(ask(d, "/api/query?format=csv", body)[2]) == [["date", "temp"], ["2017-07-14", "18"]])


def fills(d):
    """Nothing, NaN, null, 0 and the previous value are different things in every form."""
    q = "/api/query?start=%d&end=%d&m=sum:10m-sum-%%s:temp{s=a}" % (T0, T0 + 1800)
    want = {"none": ["1.0", "2.0"], "zero": ["1.0", "2.0", "0.0", "0.0"], "nan": ["1.0", "2.0", "NaN", "NaN"],
            "null": ["1.0", "2.0", "", ""], "previous": ["1.0", "2.0", "2.0", "2.0"]}
    for fill, values in want.items():
        got = [r[2] for r in rows(ask(d, q % fill + "&format=csv")[2])[1:]]
        check("csv with " + fill, got == values, got)
        got = [l.split()[2] for l in ask(d, q % fill + "&format=text")[2].splitlines()]
        check("text with " + fill, got == [v or "null" for v in values], got)
        known = {"": None, "NaN": "NaN"}
        for form in ("json", "ndjson"):
            got = json.loads(ask(d, q % fill + "&format=" + form)[2].strip("[]\n"))["dps"].values()
            check(form + " with " + fill, list(got) == [known[v] if v in known else float(v) for v in values], got)
    q = "/api/query?start=%d&end=%d&m=sum:temp{s=b}&by=hour&fill=%%s&format=%%s" % (T0, T0 + 7199)
    for fill, seen in (("none", None), ("zero", "0"), ("null", "")):
        got = rows(ask(d, q % (fill, "csv"))[2])[2:]
        check("totals with " + fill, got == ([] if seen is None else [["2017-07-14", "01", seen]]), got)
    got = json.loads(ask(d, q % ("null", "json"))[2])
    check("totals with null", [r["value"] for r in got] == [10, None], got)
    check("totals with null as text", ask(d, q % ("null", "text"))[2].splitlines()[1] == "2017-07-14 01 null")


def latest(d):
    """The newest points of stations, by HTTP and by the command, of a daemon and a folder."""
    q = "/api/query/last?timeseries=temp{s=*}"
    got = json.loads(ask(d, q + "&n=2")[2])
    want = {"a": [[(T0 + 3600) * 1000, 5], [(T0 + 600) * 1000, 2]], "b": [[(T0 + 60) * 1000, 10]]}
    check("n", {r["tags"]["s"]: r["dps"] for r in got} == want and all(len(r["tsuids"]) == 1 for r in got), got)
    body = {"queries": [{"metric": "temp", "tags": {"s": "a"}}], "n": 5, "at": T0 + 3599}
    got = json.loads(ask(d, "/api/query/last", body)[2])
    check("n and at of a body", [r["dps"] for r in got] == [[[(T0 + 600) * 1000, 2], [T0 * 1000, 1]]], got)
    got = json.loads(ask(d, q + "&at=%d" % (T0 + 599))[2])
    check("at alone keeps OpenTSDB's form", [(r["timestamp"], r["value"]) for r in got] == [(T0 * 1000, "1"), ((T0 + 60) * 1000, "10")], got)
    text = "temp %s 5 {s=a}\ntemp %s 10 {s=b}\n" % (iso(T0 + 3600), iso(T0 + 60))
    check("text", ask(d, q + "&format=text") == (200, "text/plain", text))
    check("csv", rows(ask(d, q + "&n=1", None, "text/csv")[2])[1] == ["temp", "%d000" % (T0 + 3600), "5", "s=a"])
    for bad in ("n=0", "n=x", "n=-1", "at=someday"):
        check(bad, ask(d, q + "&" + bad)[0] == 400)
    port = ("--port", str(d.port))
    check("tsd last", d.run("last", "temp", *port).stdout == text)
    several = d.run("last", "temp", "s=a|b", "-n", "3", "--at", str(T0 + 3599), *port).stdout
    check("tsd last -n --at", several == "temp %s 2 {s=a}\ntemp %s 1 {s=a}\ntemp %s 10 {s=b}\n" % (iso(T0 + 600), iso(T0), iso(T0 + 60)), several)
    check("tsd last --format json", json.loads(d.run("last", "temp", "s=b", "--format", "json", *port).stdout)[0]["dps"] == want["b"])
    for words in ((), ("temp", "s"), ("temp", "-n", "0"), ("temp", "--format", "xml"), ("temp", "--at", "x")):
        check("usage", d.run("last", *words, check=False).returncode == 2, words)
    return text, several


def choice(d):
    """top, bottom, where: by HTTP and by the command."""
    q = "/api/query?format=csv&start=%d&end=%d&m=sum:temp{s=*}" % (T0, T0 + 7200)
    check("top", {r[3] for r in rows(ask(d, q + "&top=1")[2])[1:]} == {"s=b"})
    check("bottom", {r[3] for r in rows(ask(d, q + "&bottom=1&rank=count")[2])[1:]} == {"s=b"})
    check("where", [r[2] for r in rows(ask(d, q + "&where=value%3E1,value%3C=5")[2])[1:]] == ["2", "5"])
    body = {"start": T0, "end": T0 + 7200, "queries": [{"metric": "temp", "aggregator": "count"}], "by": "s", "where": "value>=2"}
    got = [(r["tags"]["s"], r["value"]) for r in json.loads(ask(d, "/api/query", body)[2])]
    check("where with totals", got == [("a", 2), ("b", 1)], got)
    status, _, text = ask(d, q + "&where=value")
    check("no condition", status == 400 and "Invalid condition" in text, text)
    words = ("query", str(T0), str(T0 + 7200), "sum", "temp", "s=*", "--port", str(d.port))
    got = d.run(*words, "--top", "1", "--rank", "last", "--where", "value != 5").stdout
    check("tsd query --top --where", got == "temp %s 10 {s=b}\n" % iso(T0 + 60), got)
    check("tsd query --top 0", d.run(*words, "--top", "0", check=False).returncode == 2)


def listed(d):
    """/api/stats/query has all endpoints that query, also when they fail."""
    span = "start=%d&end=%d" % (T0, T0 + 7200)
    exp = {"time": {"start": str(T0), "end": str(T0 + 7200), "aggregator": "sum"}, "metrics": [{"id": "a", "metric": "temp"}],
           "expressions": [{"id": "e", "expr": "a * 2"}], "outputs": [{"id": "e"}]}
    asked = (("/api/query?%s&m=sum:temp" % span, None, 200, lambda q: q["queries"][0]["metric"] == "temp"),
             ("/api/query/gexp?%s&exp=scale(sum:temp,2)" % span, None, 200, lambda q: q["exp"] == ["scale(sum:temp,2)"] and q["queries"][0]["metric"] == "temp"),
             ("/api/query/exp", exp, 200, lambda q: q["expressions"] == [{"id": "e", "expr": "a * 2"}] and q["startTime"] == T0 * 1000),
             ("/api/query/last?timeseries=temp{s=a}&n=2", None, 200, lambda q: q["last"]["timeseries"] == ["temp{s=a}"] and q["last"]["n"] == 2),
             ("/api/query/last?timeseries=nothing", None, 400, lambda q: q["last"]["timeseries"] == ["nothing"]),
             ("/api/query/gexp?%s&exp=scale(sum:nothing,2)" % span, None, 400, lambda q: q["exp"] == ["scale(sum:nothing,2)"]),
             ("/q?%s&m=sum:temp&ascii" % span, None, 200, lambda q: q["queries"][0]["metric"] == "temp"))
    for path, body, status, same in asked:
        got = ask(d, path, body)
        row = json.loads(ask(d, "/api/stats/query")[2])["completed"][0]
        check("listed: " + path, got[0] == status == row["httpResponse"]["code"] and same(row["query"]), (got, row))
        check("points of " + path, status != 200 or row["pointsRead"] > 0, row)


def explain(d):
    """/api/query/explain: as /api/query is asked, GET and POST; nothing is deleted."""
    q = "/api/query/explain?start=%d&end=%d&m=sum:1h-sum:temp{s=*}" % (T0, T0 + 7200)
    body = {"start": T0, "end": T0 + 7200, "delete": True, "queries": [{"metric": "temp", "aggregator": "sum", "downsample": "1h-sum", "tags": {"s": "*"}}]}
    status, type_, text = ask(d, q)
    x = json.loads(text)
    check("explain", (status, type_) == (200, "application/json") and x["queries"][0]["series"] == 2 and x["queries"][0]["memory"]["points"] == 4, text)
    check("by POST", ask(d, "/api/query/explain", body)[2] == text)
    check("text", ask(d, q + "&format=text")[1] == "text/plain" and ask(d, q + "&format=text")[2].startswith("sum temp: 2 series in 2 groups"))
    check("Accept of points", ask(d, q, None, "text/csv")[2] == text)
    check("format of points", ask(d, q + "&format=csv")[0] == 400)
    check("unknown metric", ask(d, q.replace("temp", "none"))[0] == 400)
    check("totals", json.loads(ask(d, q.replace("1h-sum:", "") + "&by=day")[2])["queries"][0]["groups"] == 1)
    check("limits", {l["key"]: l["refused"] for l in x["limits"]} == {"query_max_series": False, "query_max_read_bytes": False, "query_max_points": False,
                                                                     "query_max_bytes": False, "query_timeout_ms": False}, x["limits"])
    check("nothing is gone", ask(d, q)[2] == text)


def main():
    with Daemon(workers=2) as d:
        for t, v, s in ((0, 1, "a"), (600, 2, "a"), (3600, 5, "a"), (60, 10, "b")):
            d.send("put temp %d %d s=%s\n" % (T0 + t, v, s))
        d.sync()
        forms(d)
        breakdowns(d)
        fills(d)
        choice(d)
        listed(d)
        explain(d)
        text, several = latest(d)
        d.stop()
        check("tsd last --data", d.run("last", "temp", "--data", d.data).stdout == text)
        check("the same", d.run("last", "temp", "s=a|b", "-n", "3", "--at", str(T0 + 3599), "--data", d.data).stdout == several)
    end("beyond")


if __name__ == "__main__":
    main()
