#!/usr/bin/env python3
"""Rules of retention of a running daemon: set by command, by HTTP and by the configuration; what has expired is in no answer, is refused when it
is sent, and leaves the files."""
import sys
import time

from metakit import ask, check, end, holds
from tsdtest import Daemon, until

DAY = 86400
NOW = int(time.time())


def stat(d, metric, **tags):
    return sum(float(r["value"]) for r in d.api("/api/stats")
               if r["metric"] == metric and all(r["tags"].get(k) == v for k, v in tags.items()))


def points(d, metric):
    rows = d.api("/api/query?start=%d&end=%d&m=none:%s" % (NOW - 400 * DAY, NOW + 60, metric))
    return {r["tags"]["h"]: len(r["dps"]) for r in rows}


def rules(d):
    return [r["rule"] for r in d.api("/api/retention")["rules"]]


def post(d, body, query=""):
    return ask(d, "POST", "/api/retention" + query, body)


def at(d, *args, **more):
    return d.run("retention", *args, "--port", str(d.port), **more)


def by_command(d):
    for metric in "cpu.user", "mem.free":
        d.send("".join("put %s %d 1 h=%s\n" % (metric, NOW - day * DAY - 60, h) for day in range(40) for h in ("a", "b")))
    d.send("".join("put old.m %d 1 h=%s\n" % (NOW - day * DAY, h) for day in range(60, 80) for h in ("a", "b")))
    d.sync()
    d.flush("files")
    out = at(d, "add", "cpu.*", "h=a", "points=10d", "--dry-run").stdout
    check("a dry run names the rule", out.splitlines()[0], "1 cpu.* h=a points=10d")
    check("and changes nothing", out.splitlines()[-1], "nothing was changed (--dry-run)")
    cpu = post(d, {"add": ["cpu.* h=a points=10d"]}, "?dry_run=true")[1]["rules"][0]
    holds("a dry run estimates the points", 25 <= cpu["expiredPoints"] <= 32, cpu)
    check("nothing is set", rules(d), [""])
    at(d, "add", "cpu.*", "h=a", "points=10d")
    check("the rule cuts its series alone", points(d, "cpu.user"), {"a": 10, "b": 40})
    check("and no other metric", points(d, "mem.free"), {"a": 40, "b": 40})
    at(d, "add", "mem.*", "points=forever", "--at", "1")
    at(d, "add", "*", "points=20d")
    check("the first rule that matches applies", points(d, "cpu.user"), {"a": 10, "b": 20})
    check("a rule can come first", points(d, "mem.free"), {"a": 40, "b": 40})
    until("the file is written without what has expired", lambda: stat(d, "tsd.storage.files.points") <= 11 + 21 + 2 * 40)
    check("the same rule twice is refused", at(d, "add", "mem.*", "points=forever", check=False).returncode, 1)
    holds("a bad rule is refused", "is neither a duration" in at(d, "add", "x", "points=5", check=False).stderr)
    holds("days= needs hours=", "no hours to make them of" in at(d, "add", "x", "points=5d", "hours=5d", "days=9d", check=False).stderr)
    check("export has no expired point", len(d.run("export", "cpu.user", "--port", str(d.port)).stdout.splitlines()), 30)


def refusals(d):
    before = stat(d, "tsd.rpc.errors", type="expired")
    answer = d.talk("put cpu.user %d 5 h=a\nput cpu.user %d 6 h=a\nput mem.free %d 7 h=a\nsync\n" %
                    (NOW - 15 * DAY, NOW - 5, NOW - 300 * DAY))
    text = answer.decode()
    holds("an expired point is refused", "put: illegal argument: the point has expired: points of this series are kept for 10d" in text, text)
    holds("others are taken", "ok 2" in text, text)
    body = [{"metric": "cpu.user", "timestamp": NOW - 15 * DAY, "value": 1, "tags": {"h": "a"}}]
    check("by HTTP too", ask(d, "POST", "/api/put", body)[0], 400)
    check("both are counted", stat(d, "tsd.rpc.errors", type="expired") - before, 2)
    check("what is kept for ever is stored", points(d, "mem.free")["a"], 41)


def by_http(d):
    status = post(d, {"add": ["web.* points=5d"], "remove": ["x points=1d"]})[0]
    check("one change at a time", status, 400)
    check("a parameter in the body is not ignored", post(d, {"set": [], "dry_run": True})[0], 400)
    check("nor is a rule that is a comment", post(d, {"set": ["#x points=1d", "* points=1d"]})[0], 400)
    check("nor one that is empty", post(d, {"set": [" "]})[0], 400)
    check("what is not set cannot be removed", post(d, {"remove": ["x points=1d"]})[0], 404)
    check("a rule is added", post(d, {"add": ["web.* points=5d"], "at": 0})[0], 200)
    check("at its place", rules(d)[0], "web.* points=5d")
    explained = d.api("/api/retention?explain=true")["rules"]
    cpu = [r for r in explained if r["rule"] == "cpu.* h=a points=10d"][0]
    check("explain counts the series", cpu["series"], 1)
    holds("and estimates what is left of the points", cpu["points"] <= 30, cpu)
    check("the rest is what retention_days says", explained[-1]["source"], "retention_days")
    check("set replaces all", post(d, {"set": ["mem.* points=forever", "* points=15d"]})[0], 200)
    check("the new rules", rules(d), ["mem.* points=forever", "* points=15d", ""])
    check("apply at once", points(d, "cpu.user")["b"], 15)


def over_restarts(d):
    d.keys["retention_rules"] = "disk.* points=3d; * points=1d"
    d.restart()
    check("set rules come before configured ones", rules(d), ["mem.* points=forever", "* points=15d", "disk.* points=3d", "* points=1d", ""])
    holds("a configured rule cannot be removed", "change the configuration" in at(d, "remove", "disk.*", "points=3d", check=False).stderr)
    at(d, "remove", "*", "points=15d")
    check("it applies now", points(d, "cpu.user"), {"a": 2, "b": 1})
    check("what is kept for ever stays", points(d, "mem.free"), {"a": 41, "b": 40})
    d.flush("compact")
    left = stat(d, "tsd.storage.files.points")
    holds("series that have expired leave the files", 81 <= left <= 162, left)
    d.kill()
    d.start()
    check("nothing else is gone after a kill", points(d, "mem.free"), {"a": 41, "b": 40})
    holds("nor has anything come back", max(points(d, "cpu.user").values()) <= 2, points(d, "cpu.user"))


def main():
    with Daemon(workers=2) as d:
        by_command(d)
        refusals(d)
        by_http(d)
        over_restarts(d)
        d.stop()
        out = d.run("retention", "list", "--data", d.data).stdout
        check("a folder too", out.splitlines()[0], "1 mem.* points=forever")
    return end("retention")


if __name__ == "__main__":
    sys.exit(main())
