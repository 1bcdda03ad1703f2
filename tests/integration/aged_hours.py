#!/usr/bin/env python3
"""Hours for longer than points, of a running daemon: when a rule with hours= lets points expire, whole hours answer as before and nothing else does, before and
after their points are removed, a kill, a start, a delete and a rename."""
import os
import time

from metakit import ask, check, end, holds
from tsdtest import Daemon, until

HOUR = 3600
NOW = int(time.time()) // HOUR * HOUR
FROM = NOW - 60 * HOUR  # older hours have expired in an hour's time
TO = NOW - 20 * HOUR


def load(d):
    d.send("".join("put web.hits %d %d domain=d%d\n" % (NOW - h * HOUR + k * 450, (h * k) % 97 - 20 + i, i)
                   for h in range(1, 70) for k in range(8) for i in range(3)))
    d.send("".join("put web.time %d %.2f domain=d0\n" % (NOW - h * HOUR + k * 450, h * k / 7.0) for h in range(1, 70) for k in range(8)))
    d.sync()


def answers(d, metric="web.hits", fro=FROM):
    out = []
    for m, by in (("sum", "hour"), ("count", "day"), ("min", "domain"), ("max", "hour,domain"), ("avg", "day"), ("last", "domain")):
        out.append(d.api("/api/query?start=%d&end=%d&m=%s:%s&by=%s" % (fro, NOW, m, metric, by)))
    for m in ("sum:1h-sum", "none:2h-first", "max:3h-max"):
        out.append(d.api("/api/query?start=%d&end=%d&m=%s:%s" % (fro, NOW, m, metric)))
    return out


def n_points(d, m):
    return sum(len(r["dps"]) for r in d.api("/api/query?start=%d&end=%d&m=%s" % (FROM, TO, m)))


def stat(d, metric):
    return sum(float(r["value"]) for r in d.api("/api/stats") if r["metric"] == metric)


def expire(d, before):
    rule = ["web.*", "points=10h", "hours=100h"]
    out = d.run("retention", "add", *rule, "--port", str(d.port)).stdout
    holds("the rule is listed", out.startswith("1 web.* points=10h hours=100h"), out)
    check("and answered", d.api("/api/retention")["rules"][0]["hoursMs"], 100 * HOUR * 1000)
    check("whole hours answer at once", answers(d), before[0])
    check("decimals too", answers(d, "web.time"), before[1])
    check("points do not", n_points(d, "none:web.hits"), 0)
    check("nor parts of hours", n_points(d, "sum:10m-sum:web.hits"), 0)
    check("nor percentiles", n_points(d, "sum:1h-p50:web.hits"), 0)
    until("summaries are made", lambda: stat(d, "tsd.storage.aged.hours") > 0)
    check("no pass has failed", stat(d, "tsd.storage.aged.errors"), 0)
    d.flush("compact")
    check("they answer when their points are removed", answers(d), before[0])
    check("decimals too, when they are removed", answers(d, "web.time"), before[1])
    text = d.run("retention", "--explain", "--port", str(d.port)).stdout
    holds("it is explained", "summaries of hours: 4 series" in text, text)
    put = {"metric": "web.hits", "timestamp": NOW - 30 * HOUR, "value": 1, "tags": {"domain": "d0"}}
    check("an old point is refused", ask(d, "POST", "/api/put", put)[0], 400)
    check("and changes nothing", answers(d), before[0])


def bulk(d, before):
    path = d.data + ".lines"
    with open(path, "w") as f:
        f.write("".join("web.hits %d 5 domain=d0\n" % (NOW - 30 * HOUR + k) for k in range(7)) + "web.new %d 1 domain=d0\n" % (NOW - 30 * HOUR))
    out = d.run("import", "--bulk", path, "--port", str(d.port), check=False)
    os.unlink(path)
    check("a bulk load of old points ends with 1", out.returncode, 1)
    holds("they are counted", "7 lines were refused" in out.stderr and "1 point in" in out.stderr, out.stderr)
    check("they change nothing", answers(d), before[0])


def survive(d, before):
    d.kill()
    d.start()
    check("after a kill", answers(d), before[0])
    d.restart()
    check("after a start", answers(d, "web.time"), before[1])
    check("a rename", ask(d, "POST", "/api/uid/rename", {"metric": "web.hits", "name": "shop.hits"})[0], 200)
    d.run("retention", "add", "shop.*", "points=10h", "hours=100h", "--port", str(d.port))
    new = answers(d, "shop.hits")
    check("another name has the same answers", [len(x) for x in new], [len(x) for x in before[0]])
    check("and the same sums", [r["value"] for r in new[0]], [r["value"] for r in before[0][0]])


def delete(d):
    count = lambda: d.api("/api/query?start=%d&end=%d&m=count:shop.hits&by=hour" % (NOW - 40 * HOUR, NOW - 35 * HOUR - 1))
    check("5 hours", len(count()), 5)
    ask(d, "DELETE", "/api/query?start=%d&end=%d&m=sum:shop.hits" % (NOW - 39 * HOUR - 1800, NOW - 37 * HOUR - 1801))
    check("one hour is deleted as a whole, of another the summary stays", len(count()), 4)
    d.flush("compact")
    d.restart()
    check("and stays deleted", len(count()), 4)


def refused(d):
    check("shorter than points", ask(d, "POST", "/api/retention", {"add": ["a points=2d hours=1d"]})[0], 400)


with Daemon(workers=2, query_allow_delete="true", uid_allow_rename="true") as daemon:
    load(daemon)
    was = (answers(daemon), answers(daemon, "web.time"))
    expire(daemon, was)
    bulk(daemon, was)
    survive(daemon, was)
    delete(daemon)
    refused(daemon)
end("hours for longer than points")
