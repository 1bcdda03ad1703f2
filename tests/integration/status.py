#!/usr/bin/env python3
"""/api/tsd/status, names and cancel of a real daemon: every member that is promised, figures that agree with what was put, completion under filters and times,
cancelled queries, and what is refused."""
import http.client
import json
import socket
import time
import urllib.parse

from metakit import check as same
from metakit import end, holds as check
from tsdtest import Daemon, until

DAY = 86400
T0 = 1700006400 // DAY * DAY


def ask(d, path, method="GET", headers=None):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request(method, path, headers=headers or {})
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, json.loads(data) if data else None


def names(d, **params):
    pairs = [(k.rstrip("_"), v) for k, value in params.items() for v in (value if isinstance(value, list) else [value])]
    status, answer = ask(d, "/api/tsd/names?" + urllib.parse.urlencode(pairs))
    return (answer["names"], answer["more"]) if status == 200 else (status, answer["error"]["message"])


def status(d):
    s = d.api("/api/tsd/status")
    same("members", sorted(s), sorted(["version", "started", "now", "timezone", "compat", "health", "rates", "totals", "refused", "memory", "shards", "rebalance",
                                       "windows", "queries", "connections", "senders", "remote", "config"]))
    check("times", s["started"] <= s["now"] <= time.time() * 1000 + 1000 and s["now"] - s["started"] < 3600000, s)
    same("words", (s["timezone"], s["compat"], s["remote"]), ("Europe/Paris", "none", None))
    check("health", all(p["what"] and p["action"] for p in s["health"]["problems"]) and s["health"]["ok"] == (not s["health"]["problems"]), s["health"])
    check("rates", sorted(s["rates"]) == ["points_in", "points_out", "requests"] and s["rates"]["requests"] > 0, s["rates"])
    same("totals", {k: s["totals"][k] for k in ("points", "series", "metrics")}, {"points": 404, "series": 5, "metrics": 4})
    same("refused", s["refused"], [{"reason": "invalid_values", "count": 1}])
    check("resident memory", any(a["account"] == "resident" and 1 << 20 < a["used"] < 1 << 33 for a in s["memory"]), s["memory"])
    check("memory", any(a["account"] == "process" and 0 < a["used"] < a["limit"] for a in s["memory"]), s["memory"])
    same("owners", [o["shard"] for o in s["shards"]], [0, 1])
    same("points in memory", sum(o["memstore_points"] for o in s["shards"]), 4)
    same("windows", [(w["start"], w["end"], w["points"]) for w in s["windows"]],
         [(T0 * 1000, (T0 + DAY) * 1000, 200), ((T0 + DAY) * 1000, (T0 + 2 * DAY) * 1000, 200)])
    check("files of windows", sum(w["files"] for w in s["windows"]) == s["totals"]["files"] and all(w["bytes"] > 0 for w in s["windows"]), s["windows"])
    check("bytes a point", 0 < s["totals"]["bytes_per_point"] < 100 and s["totals"]["bytes_on_disk"] > 400, s["totals"])
    check("connections", 1 <= s["connections"]["open"] <= 4 and s["connections"]["max"] == 10000, s["connections"])
    check("senders", all(r["address"] == "127.0.0.1" and 0 < r["points"] <= 404 for r in s["senders"]), s["senders"])
    keys = {k["key"]: k for k in s["config"]}
    same("a changed key", {k: v for k, v in keys["timezone"].items() if k != "help"}, {"key": "timezone", "value": "Europe/Paris", "default": "UTC", "changed": True})
    check("a key that was not changed", not keys["log_level"]["changed"] and keys["log_level"]["help"], keys["log_level"])


def senders(d):
    """An address with a connection, and the points that came from it."""
    with d.connect() as c:
        c.sendall(b"put sent.here %d 1 a=b\nput sent.here %d 1 a=b\nsync\n" % (T0, T0 + 1))
        c.recv(100)
        rows = d.api("/api/tsd/status")["senders"]
        check("a sender that is connected", len(rows) == 1 and rows[0]["address"] == "127.0.0.1" and rows[0]["connections"] >= 2 and rows[0]["points"] >= 2, rows)


def completion(d):
    same("metrics", names(d, kind="metric"), (["a.b", "cpu.idle", "cpu.user", "web.cpu"], False))
    same("prefix first", names(d, kind="metric", q="cpu"), (["cpu.idle", "cpu.user", "web.cpu"], False))
    same("inside alone", names(d, kind="metric", q=".b"), (["a.b"], False))
    same("at most", names(d, kind="metric", q="cpu", max=2), (["cpu.idle", "cpu.user"], True))
    same("exactly", names(d, kind="metric", q="cpu", max=3), (["cpu.idle", "cpu.user", "web.cpu"], False))
    same("keys", names(d, kind="tagk"), (["dc", "host"], False))
    same("values", names(d, kind="tagv", q="h"), (["h1", "h2"], False))
    same("keys of a metric", names(d, kind="tagk", metric="cpu.idle"), (["host"], False))
    same("values of a key", names(d, kind="tagv", metric="cpu.user", tagk="host"), (["h1", "h2"], False))
    same("under a filter", names(d, kind="tagv", metric="cpu.user", tagk="host", filter="dc=par"), (["h1"], False))
    same("values of one key are alternatives", names(d, kind="tagv", metric="cpu.user", tagk="host", filter=["dc=par", "dc=nyc"]), (["h1", "h2"], False))
    same("a list", names(d, kind="tagv", metric="cpu.user", tagk="host", filter="dc=par|nyc"), (["h1", "h2"], False))
    same("a list and a value of the same key", names(d, kind="tagv", metric="cpu.user", tagk="host", filter=["dc=par|nyc", "dc=nyc"]), (["h2"], False))
    same("a pattern", names(d, kind="tagv", metric="cpu.user", tagk="host", filter="dc=n*"), (["h2"], False))
    same("any value", names(d, kind="tagk", metric="cpu.user", filter="dc=*"), (["dc", "host"], False))
    same("a filter by its type", names(d, kind="tagv", metric="cpu.user", tagk="host", filter="dc=not_literal_or(nyc)"), (["h1"], False))
    same("a regular expression", names(d, kind="tagv", metric="cpu.user", tagk="host", filter="dc=regexp(^p.r$)"), (["h1"], False))
    same("metrics under a pattern", names(d, kind="metric", filter="dc=p*"), (["cpu.user"], False))
    same("unknown value", names(d, kind="tagv", metric="cpu.user", tagk="host", filter="dc=none"), ([], False))
    same("unknown key", names(d, kind="tagv", metric="cpu.user", tagk="host", filter="no=none"), ([], False))
    same("unknown metric", names(d, kind="tagk", metric="none"), ([], False))
    same("metrics with a tag", names(d, kind="metric", filter="dc=par"), (["cpu.user"], False))
    same("in files", names(d, kind="metric", start=T0, end=T0 + 10), (["cpu.user"], False))
    same("in memory", names(d, kind="metric", start=T0 + 10 * DAY), (["a.b", "cpu.idle", "web.cpu"], False))
    same("keys in a time", names(d, kind="tagk", metric="cpu.user", start=T0 + DAY, end=T0 + 2 * DAY - 1), (["dc", "host"], False))
    same("values in a time", names(d, kind="tagv", metric="cpu.user", tagk="host", start=T0 + DAY, end=T0 + 2 * DAY - 1), (["h2"], False))
    for params, word in (({"kind": "x"}, "kind=x"), ({"max": 0}, "max=0"), ({"max": 51}, "max=51"), ({"kind": "tagk", "filter": "dc=par"}, "metric"),
                         ({"kind": "metric", "filter": "dc"}, "filter=dc"), ({"kind": "metric", "filter": "dc=nofilter(x)"}, "nofilter"), ({"kind": "tagk", "metric": "cpu.user", "filter": "dc=regexp([)"}, "regular expression"), ({"kind": "tagv", "metric": "cpu.user"}, "tagk"), ({"start": "nonsense"}, "nonsense"),
                         ({"start": 20, "end": 10}, "later than"), ({"kinds": "tagk"}, "kinds")):
        got = names(d, **params)
        check("refused: %r" % params, got[0] == 400 and word in got[1], got)


def cancelling(d):
    """A query whose client does not read its reply runs until it is ended."""
    d.send("".join("put long.m %d %d s=s%d\n" % (T0 + i, i, s) for s in range(100) for i in range(3000)))
    d.sync()
    same("no such query", ask(d, "/api/tsd/cancel?id=999999", "POST")[0], 404)
    same("no id", ask(d, "/api/tsd/cancel", "POST")[0], 400)
    same("not by GET", ask(d, "/api/tsd/cancel?id=1")[0], 405)
    same("not from another site", ask(d, "/api/tsd/cancel?id=1", "POST", {"Sec-Fetch-Site": "cross-site", "Origin": "http://x.example"})[0], 403)
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", d.port))
    s.sendall(b"GET /api/query?start=%d&end=%d&m=none:long.m HTTP/1.1\r\nHost: localhost\r\n\r\n" % (T0, T0 + 3000))
    q = until("a running query", lambda: [x for x in d.api("/api/tsd/status")["queries"]["running"] if x["ms"] >= 100])[0]  # not the worker's try
    check("what is said of it", q["id"] > 0 and "long.m" in q["text"] and q["client"].startswith("127.0.0.1:") and q["ms"] >= 0, q)
    same("it is cancelled", ask(d, "/api/tsd/cancel?id=%d" % q["id"], "POST")[0], 204)
    until("its end", lambda: not d.api("/api/tsd/status")["queries"]["running"])
    s.close()
    same("it has ended", ask(d, "/api/tsd/cancel?id=%d" % q["id"], "POST")[0], 404)
    slow = d.api("/api/tsd/status")["queries"]["slow"]
    check("slow queries", q["id"] in [x["id"] for x in slow] and slow == sorted(slow, key=lambda x: -x["ms"]) and all("ended" in x for x in slow), slow)


def main():
    with Daemon(workers=2, timezone="Europe/Paris", query_spool_bytes=0, query_reply_buffer_bytes="256k") as d:
        d.send("".join("put cpu.user %d %d host=h%d dc=%s\n" % (T0 + day * DAY + i, i, 1 + day, ("par", "nyc")[day]) for day in (0, 1) for i in range(200)))
        d.sync()
        d.flush("files")
        later = T0 + 20 * DAY
        d.send("put cpu.idle %d 1 host=h1\nput a.b %d 1 host=h1\nput web.cpu %d 1 host=h1\nput web.cpu %d 2 host=h1\n" % (later, later, later, later + 1))
        d.sync()
        d.talk("put cpu.user %d x host=h1\n" % T0)
        until("rates", lambda: "rates" in d.api("/api/tsd/status"))
        status(d)
        completion(d)
        cancelling(d)
        senders(d)
    with Daemon(workers=1, mode="wo") as d:
        same("status with mode = wo", ask(d, "/api/tsd/status")[0], 200)
        same("names with mode = wo", ask(d, "/api/tsd/names")[0], 404)
    end("status")


main()
