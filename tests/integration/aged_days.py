#!/usr/bin/env python3
"""Days for longer than hours, of a running daemon: when a rule with days= lets hours expire, whole days answer as before and nothing else does, before and after
their rows are removed, a kill, a start, a change of the zone, a delete and a rename."""
import os
import time
import urllib.request

from metakit import ask, check, end, holds
from tsdtest import Daemon, until

HOUR = 3600
DAY = 24 * HOUR
NOW = int(time.time()) // HOUR * HOUR
N_DAYS = 25
RULE = ["points=20h", "hours=70h", "days=500d"]
HOURS_KEPT = 70 * HOUR


def midnight(back):
    """Midnight of UTC so many days ago; in Berlin a day begins an hour or two earlier."""
    return NOW // DAY * DAY - back * DAY


FROM = midnight(N_DAYS)


def load(d):
    lines = []
    for h in range(1, N_DAYS * 24 + 30):
        t = NOW - h * HOUR
        if h % 50 < 40:  # and days with few hours
            lines += ["put web.hits %d %d domain=d%d\n" % (t + k * 450, (h * k) % 97 - 20 + i, i) for k in range(8) for i in range(3)]
            lines += ["put web.time %d %.2f domain=d0\n" % (t + k * 450, h * k / 7.0) for k in range(8)]
            lines += ["put web.load %d %r domain=d0\n" % (t + k * 1100, 1e22 + h * k * 1e9) for k in range(3)]
    d.send("".join(lines))
    d.sync()


def answers(d, metric="web.hits", to=NOW, zone="UTC"):
    out = []
    for m, by in (("sum", "day"), ("count", "day"), ("min", "domain"), ("max", "day,domain"), ("avg", "month"), ("last", "domain"), ("first", "week")):
        out.append(d.api("/api/query?start=%d&end=%d&m=%s:%s&by=%s&tz=%s" % (FROM, to, m, metric, by, zone)))
    for m in ("sum:1dc-sum", "none:1dc-first", "max:1wc-max", "avg:1nc-avg", "sum:0all-count"):
        out.append(d.api("/api/query?start=%d&end=%d&m=%s:%s&timezone=%s" % (FROM, to, m, metric, zone)))
    return out


def n_points(d, m, to=NOW - HOURS_KEPT - DAY):
    return sum(len(r["dps"]) for r in d.api("/api/query?start=%d&end=%d&m=%s" % (FROM, to, m)))


def stat(d, metric):
    return sum(float(r["value"]) for r in d.api("/api/stats") if r["metric"] == metric)


def all_answers(d, to=NOW):
    return [answers(d, m, to) for m in ("web.hits", "web.time", "web.load")]


def expire(d, before):
    out = d.run("retention", "add", "web.*", *RULE, "--port", str(d.port)).stdout
    holds("the rule is listed", out.startswith("1 web.* " + " ".join(RULE)), out)
    row = d.api("/api/retention")["rules"][0]
    check("and answered", (row["hoursMs"], row["daysMs"]), (HOURS_KEPT * 1000, 500 * DAY * 1000))
    check("whole days answer at once", all_answers(d), before)
    check("hours do not", n_points(d, "none:1h-sum:web.hits"), 0)
    check("nor days of another offset", n_points(d, "sum:1dc-sum:web.hits&timezone=Asia/Tokyo"), 0)
    holds("hours that have not expired answer", n_points(d, "none:1h-sum:web.hits", NOW - 30 * HOUR) > 0)

    def days_are_made():
        d.flush("compact")
        return "summaries of days: 5 series" in d.run("retention", "--explain", "--port", str(d.port)).stdout
    until("summaries of days are made", days_are_made)
    check("no pass has failed", stat(d, "tsd.storage.aged.errors"), 0)
    for _ in range(2):
        d.flush("compact")
    check("they answer when their hours are removed", all_answers(d), before)
    check("hours do not, when they are removed", n_points(d, "none:1h-sum:web.hits"), 0)
    row = [r for r in d.api("/api/retention?explain")["rules"] if r["rule"]][0]
    holds("few hours are left", 0 < row["hours"]["points"] < 5 * 22 * 24 * 5, row["hours"])
    holds("all days are there", row["days"]["points"] > 5 * 11 * 15, row["days"])


def left_out(d, m, zone, more="", path="/api/query", start=FROM, to=midnight(5)):
    """The header that says what an answer lacks, or None."""
    with urllib.request.urlopen("http://127.0.0.1:%d%s?start=%d&end=%d&m=%s&tz=%s%s" % (d.port, path, start, to - 1, m, zone, more), timeout=300) as f:
        return f.headers.get("X-Tsd-Left-Out")


def notices(d):
    """An answer that lacks days says so, and only such an answer."""
    words = "summaries are of whole days of UTC; ask for whole days in that zone"
    for more in ("&by=day", "&by=month", "&by=domain", "&by=day&format=csv"):
        check("days that fit, " + more, left_out(d, "sum:web.hits", "UTC", more), None)
    check("days of nothing", left_out(d, "sum:web.hits", "Asia/Tokyo", "&by=day", start=midnight(90), to=midnight(60)), None)
    check("buckets that fit", left_out(d, "sum:1dc-sum:web.hits", "UTC"), None)
    n_days = len(d.api("/api/query?start=%d&end=%d&m=count:web.hits&by=day&tz=UTC" % (FROM, midnight(5) - 1)))
    for m, zone, more in (("sum:web.hits", "Asia/Tokyo", "&by=day"), ("sum:web.hits", "Asia/Tokyo", "&by=day&format=csv"), ("sum:1dc-sum:web.hits", "UTC", "&timezone=Asia/Tokyo"), ("sum:1h-sum:web.hits", "UTC", "")):
        seen = left_out(d, m, zone, more)
        holds("days that do not fit: %s %s %s" % (m, zone, more), seen is not None and seen.startswith("%d days of 3 series were left out (" % (3 * n_days)) and words in seen, seen)
    seen = left_out(d, "sum:web.hits", "UTC", "&by=domain", start=FROM + HOUR)
    holds("a day that is cut", seen is not None and seen.startswith("3 days of 3 series were left out (%s to " % time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime(FROM))), seen)
    for m, more in (("p95:web.hits", "&by=month"), ("sum:1dc-p95:web.hits", "")):
        seen = left_out(d, m, "UTC", more, to=NOW)
        holds("percentiles of what has expired in part: " + m, seen is not None and "their summaries do not suffice for percentiles" in seen, seen)
    holds("a graph", words in (left_out(d, "sum:1dc-sum:web.hits", "Asia/Tokyo", "&ascii", "/q") or ""))
    check("a graph of days that fit", left_out(d, "sum:1dc-sum:web.hits", "UTC", "&ascii", "/q"), None)


def command_notices(d, *where):
    query = lambda zone: d.run("query", str(FROM), str(midnight(5) - 1), "sum", "web.hits", "--by", "domain", "--tz", zone, *where)
    check("no warning", query("UTC").stderr, "")
    p = d.run("query", str(FROM + HOUR), str(midnight(5) - 1), "sum", "web.hits", "--by", "domain", "--tz", "Asia/Tokyo", *where)
    holds("a warning of one line", p.returncode == 0 and p.stderr.startswith("tsd: 3 days of 3 series were left out (") and p.stderr.count("\n") == 1, p.stderr)


def all_notices(d):
    notices(d)
    command_notices(d, "--port", str(d.port))
    d.stop()
    command_notices(d, "--data", d.data)
    d.start()


def survive(d, before):
    d.kill()
    d.start()
    check("after a kill", all_answers(d), before)
    d.restart()
    check("after a start", all_answers(d), before)
    old = all_answers(d, midnight(5) - 1)  # of days that were made before the zone changes
    d.keys["timezone"] = "Europe/Berlin"
    d.restart()
    check("in another zone of the store", all_answers(d, midnight(5) - 1), old)
    d.keys["timezone"] = "Asia/Kolkata"
    d.restart()
    check("in a zone without whole hours", all_answers(d, midnight(5) - 1), old)
    del d.keys["timezone"]
    d.restart()
    check("a rename", ask(d, "POST", "/api/uid/rename", {"metric": "web.hits", "name": "shop.hits"})[0], 200)
    d.run("retention", "add", "shop.*", *RULE, "--port", str(d.port))
    new = answers(d, "shop.hits")
    check("another name has the same sums", [r["value"] for r in new[0]], [r["value"] for r in before[0][0]])


def lose_marks(d, before):
    d.stop()
    os.remove(d.data + "/AGED")
    d.start()
    log = open(d.log.name).read()
    holds("the log counts series, and those of them that have days", "hours of 5 series whose points have expired, and days of 5 of them, are not answered" in log, log[-3000:])
    for _ in range(4):
        d.flush("compact")
    check("marks are found again", all_answers(d), before)


def delete(d):
    day = lambda: [r["value"] for r in d.api("/api/query?start=%d&end=%d&m=count:shop.hits&by=day" % (midnight(12), midnight(8) - 1))]
    was = day()
    check("4 days", len(was), 4)
    ask(d, "DELETE", "/api/query?start=%d&end=%d&m=sum:shop.hits" % (midnight(11) - HOUR, midnight(9) - HOUR - 1))
    check("one day is deleted as a whole, of others the summaries stay", day(), [was[0], was[2], was[3]])
    d.flush("compact")
    d.restart()
    check("and it stays deleted", day(), [was[0], was[2], was[3]])
    zone = ["--tz", "UTC", "--port", str(d.port)]
    text = lambda t: time.strftime("%Y/%m/%d-%H:%M:%S", time.gmtime(t))
    d.run("delete", text(midnight(9)), text(midnight(8) - 1), "sum", "shop.hits", *zone)
    check("a day up to 23:59:59 is deleted", day(), [was[0], was[2]])


def refused(d):
    check("shorter than hours", ask(d, "POST", "/api/retention", {"add": ["a points=2d hours=10d days=3d"]})[0], 400)


with Daemon(workers=2, query_allow_delete="true", uid_allow_rename="true") as daemon:
    load(daemon)
    was = all_answers(daemon)
    expire(daemon, was)
    all_notices(daemon)
    lose_marks(daemon, was)
    survive(daemon, was)
    delete(daemon)
    refused(daemon)
end("days for longer than hours")
