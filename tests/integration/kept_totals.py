#!/usr/bin/env python3
"""Kept totals of a running daemon: declared by command and by HTTP, they answer what the points answer, before and after late points, deletes, merges,
a kill and a repair, and their files come and go."""
import glob
import os
import subprocess
import sys
import time

from metakit import ask, check, end, holds
from tsdtest import Daemon, binary

HOUR = 3600
FROM = (int(time.time()) // 86400 - 40) * 86400
HOURS = 30 * 24


def load(d):
    lines = []
    for h in range(HOURS):
        for k in range(40):
            lines.append("put web.hits %d %d domain=d%d host=h%d\n" % (FROM + h * HOUR + k, (h * k) % 97 - 20, k, k % 3))
        lines.append("put web.bytes %d 7 domain=d1 host=h1\n" % (FROM + h * HOUR))
    d.send("".join(lines))
    d.sync()
    d.flush("compact")


def answers(d):
    out = []
    for m, by, tz in (("sum", "day", "UTC"), ("avg", "day,host", "Europe/Berlin"), ("max", "month", "Asia/Kolkata"), ("count", "hour", "UTC"),
                      ("min", "host", "UTC"), ("sum", "week,domain", "UTC")):
        q = "/api/query?start=%d&end=%d&m=%s:web.hits&by=%s&tz=%s" % (FROM + 5, FROM + HOURS * HOUR, m, by, tz)
        out.append(d.api(q))
    return out


def answered(d):
    e = d.api("/api/query/explain?start=%d&end=%d&m=sum:web.hits&by=day&format=json" % (FROM, FROM + HOURS * HOUR - 1))
    return e["queries"][0].get("keptHours", 0)


def totals(d):
    return d.api("/api/total")["totals"]


def wait_for(what, ready):
    for _ in range(400):
        if ready():
            return
        time.sleep(0.1)
    holds(what, False)


def made(d):
    wait_for("totals are made", lambda: totals(d)[0]["files"] > 0 and totals(d)[0]["waiting"] == 0)


def files(d):
    return sorted(glob.glob(os.path.join(d.data, "files", "*.g*")))


def life(d):
    before = answers(d)
    out = d.run("total", "add", "web.hits", "--over", "domain", "--port", str(d.port)).stdout
    holds("it is listed", out.startswith("web.hits over domain:"), out)
    made(d)
    holds("files are there", files(d))
    check("all hours are answered", answered(d), HOURS)
    check("the answers are those of the points", answers(d), before)
    d.send("put web.hits %d 1000 domain=d3 host=h0\n" % (FROM + 100 * HOUR + 3))
    d.sync()
    check("a late point closes its hour", answered(d), HOURS - 1)
    late = answers(d)
    holds("and is in the answer", late != before)
    ask(d, "DELETE", "/api/query?start=%d&end=%d&m=sum:web.hits%%7Bdomain=d5%%7D" % (FROM, FROM + 2 * HOUR - 1))
    check("a delete closes its hours", answered(d), HOURS - 3)
    last = answers(d)
    d.flush("compact")
    made(d)
    check("merging opens them", answered(d), HOURS)
    check("with the same answers", answers(d), last)
    return last


def refusals(d):
    post = lambda body, method="POST": ask(d, method, "/api/total", body)[0]
    check("twice", post({"metric": "web.hits", "over": ["domain"]}), 409)
    check("no keys", post({"metric": "web.hits", "over": []}), 400)
    check("no metric", post({"over": ["domain"]}), 400)
    check("a text for the keys", post({"metric": "web.hits", "over": "domain"}), 400)
    check("a misspelt member", post({"metric": "web.hits", "over": ["domain"], "ovre": []}), 400)
    check("not kept", post({"metric": "web.hits", "over": ["host"]}, "DELETE"), 404)
    for i in range(15):
        check("total %d" % i, post({"metric": "later%d" % i, "over": ["b", "a"]}), 200)
    check("one too many", post({"metric": "m", "over": ["a"]}), 413)
    holds("a total of what is not there yet", not totals(d)[1]["known"])
    for i in range(15):
        check("total %d" % i, post({"metric": "later%d" % i, "over": ["a", "b"]}, "DELETE"), 200)


def over_restarts(d, last):
    d.kill()
    d.start()
    check("they are there after a kill", answered(d), HOURS)
    check("and say the same", answers(d), last)
    path = files(d)[0]
    d.stop()
    with open(path, "r+b") as f:
        f.seek(40)
        byte = f.read(1)
        f.seek(40)
        f.write(bytes([byte[0] ^ 0x55]))
    fsck = subprocess.run([binary(), "fsck", "--data", d.data], capture_output=True, text=True)
    holds("fsck finds a damaged one", fsck.returncode and os.path.basename(path) in fsck.stdout, fsck.stdout)
    d.start()
    check("the answers do not need it", answers(d), last)
    d.stop()
    fsck = subprocess.run([binary(), "fsck", "--repair", "--data", d.data], capture_output=True, text=True)
    fsck = subprocess.run([binary(), "fsck", "--data", d.data], capture_output=True, text=True)
    check("a repair removes it", fsck.returncode, 0)
    d.start()
    d.flush("compact")
    made(d)
    check("it is made again", answered(d), HOURS)
    check("and says the same again", answers(d), last)
    d.run("total", "remove", "web.hits", "--over", "domain", "--port", str(d.port))
    wait_for("its files are removed", lambda: not files(d))
    check("the answers are those of the points still", answers(d), last)


def main():
    with Daemon(workers=2, query_allow_delete="true") as d:
        load(d)
        last = life(d)
        refusals(d)
        over_restarts(d, last)
        d.stop()
        out = d.run("total", "list", "--data", d.data)
        check("none is left", out.stdout, "")
    return end("kept_totals")


if __name__ == "__main__":
    sys.exit(main())
