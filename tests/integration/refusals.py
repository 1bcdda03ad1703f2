#!/usr/bin/env python3
"""What a refused put says, by line and by HTTP: max_series, new_series_per_min, mode = ro, wrong parameters. Points of known series are taken all the
while, each refusal is counted under its own name."""
import http.client
import json
import sys

from metakit import check, end, holds
from tsdtest import Daemon, until

T0 = 1500000000


def post(d, query, points):
    """(status, Retry-After, JSON or None)"""
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request("POST", "/api/put" + query, json.dumps(points), {"Content-Type": "application/json"})
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, r.headers.get("Retry-After"), json.loads(data) if data else None


def point(host, t=T0, value=1, metric="ref.m"):
    return {"metric": metric, "timestamp": t, "value": value, "tags": {"host": host}}


def line(host, t=T0):
    return "put ref.m %d 1 host=%s\n" % (t, host)


def errors(d, kind):
    return sum(int(s["value"]) for s in d.api("/api/stats") if s["metric"] == "tsd.rpc.errors" and s["tags"].get("type") == kind)


def count(d):
    rows = d.api("/api/query?start=1&end=4000000000&m=sum:0all-count:ref.m")
    return int(sum(v for r in rows for v in r["dps"].values()))


def max_series(d, compat):
    d.keys = {"max_series": 3, "compat": compat, "auto_create_metrics": "true", "self_metrics": "false"}
    d.restart()
    before = count(d) if compat == "opentsdb" else 0
    out = d.talk("".join(line(h, T0 + before) for h in "abcdab") + "sync\n").decode()
    check("max_series, line", out, "put: too many series: no more than 3 series (max_series)\nok 5\n")
    status, retry, answer = post(d, "?details", [point("a", T0 + 10 + before), point("e"), point("b", T0 + 10 + before)])
    check("max_series, JSON", (status, answer["success"], answer["failed"]), (400, 2, 1))
    check("max_series, JSON's error", answer["errors"][0]["error"], "no more than 3 series (max_series)")
    check("counted", (errors(d, "max_series"), errors(d, "hbase_errors")), (2, 0))


def new_series(d):
    """One series a minute for a connection: the first line is taken, the second waits, then is refused, and the rest goes on."""
    d.keys = {"new_series_per_min": 1, "collect": "false"}
    d.restart()
    n = count(d)
    out = d.talk(line("n1", T0 + 20) + line("n2", T0 + 20) + line("n3", T0 + 20) + line("a", T0 + 21) + line("n1", T0 + 21) + "sync\n").decode()
    said = "put: too many new series: more than 1 in a minute on this connection (new_series_per_min): send it again later\n"
    check("new_series_per_min, line", out, said * 2 + "ok 3\n")
    check("points of known series", count(d), n + 3)
    status, retry, answer = post(d, "", [point("n4", T0 + 20), point("n5", T0 + 20), point("a", T0 + 22)])
    check("new_series_per_min, JSON", (status, answer["error"]["message"]), (503, "Too many new series"))
    holds("its key and when to come again", retry and "new_series_per_min" in answer["error"]["details"], (retry, answer))
    until("what stood before it is stored", lambda: count(d) == n + 4)  # a 503 does not wait for it
    check("sent again it is taken but for the next one", post(d, "", [point("n4", T0 + 20), point("a", T0 + 22)])[0], 204)
    check("counted", (errors(d, "new_series_per_min"), errors(d, "hbase_errors")), (3, 0))
    d.keys = {"new_series_per_min_total": 1}
    d.restart()
    check("in sum", [post(d, "", [point(h)])[0] for h in ("s1", "s2", "s1")], [204, 503, 204])
    d.keys = {"new_series_per_min": 0, "new_series_per_min_total": 0}
    d.restart()
    check("no limit", d.talk("".join(line("z%d" % i) for i in range(3000)) + "sync\n"), b"ok 3000\n")


def read_only(d):
    d.keys = {"mode": "ro"}
    d.restart()
    said = "%s: read-only: this daemon takes no points (mode = ro)\n"
    check("mode = ro", d.talk(line("a") + "PUT x\nrollup x\nhistogram x\n").decode(), "".join(said % w for w in ("put", "put", "rollup", "histogram")))
    check("counted", errors(d, "read_only"), 4)
    d.keys = {"mode": "ro", "compat": "opentsdb"}
    d.restart()
    check("as OpenTSDB", d.talk(line("a")).decode(), "unknown command: put.  Try `help'.\n")


def http_errors(d):
    """Errors name what was wrong; a bad parameter stores nothing."""
    d.keys = {}
    d.restart()
    n = count(d)
    for value in ("abc", "-1", "1.5", "86400001", ""):
        status, _, answer = post(d, "?sync&sync_timeout=" + value, [point("a", T0 + 30)])
        check("sync_timeout=" + value, (status, "sync_timeout" in answer["error"]["message"], count(d)), (400, True, n))
    check("sync_timeout=86400000", (post(d, "?sync&sync_timeout=86400000", [point("a", T0 + 30)])[0], count(d)), (204, n + 1))
    bad = [point("a", 0), point("a", T0, "x"), point("", T0), point("a", T0 + 31), point("a", T0, 1, "")]
    status, _, answer = post(d, "", bad)
    details = answer["error"]["details"]
    check("400, the good one is stored", (status, count(d)), (400, n + 2))
    holds("the answer has the first errors", details.startswith("4 of 5 points were refused: Invalid timestamp; Unable to parse value to a number; Invalid tag value")
          and details.endswith("; ... (the parameter details lists all)"), details)
    d.keys = {"compat": "opentsdb"}
    d.restart()
    check("as OpenTSDB", post(d, "", bad)[2]["error"]["details"], 'Please see the TSD logs or append "details" to the put request')


def main():
    with Daemon(workers=2) as d:
        max_series(d, "none")
        max_series(d, "opentsdb")
        new_series(d)
        read_only(d)
        http_errors(d)
    end("refusals")


if __name__ == "__main__":
    sys.exit(main())
