#!/usr/bin/env python3
"""Versions of a running daemon: queries as of a time answer what was answered at that time, through rewrites, deletes, flushes, merges, kills and a rename.
Everything that is written is kept in a model with the moment of its writing."""
import random
import subprocess
import time

from metakit import ask, check, end, holds
from tsdtest import Daemon, binary

BASE = (int(time.time()) // 86400 - 3) * 86400
N = 4  # versions kept
SERIES = ("country=nz", "country=de host=a", "country=de host=b")


class Model:
    def __init__(self):
        self.now = {}      # (series, time) -> value
        self.writes = {}   # (series, time) -> number of writes
        self.values = {}   # (series, time) -> all values that were written, in their order
        self.moments = []  # (ms, copy of now, copy of writes)

    def moment(self):
        time.sleep(0.005)
        self.moments.append((int(time.time() * 1000), dict(self.now), dict(self.writes)))
        time.sleep(0.005)


def read(d, metric, ms=None):
    """The points of all series, and None if the answer is that they are not known."""
    path = "/api/query?start=%d&end=%d&m=none:%s&ms=true" % (BASE - 10, BASE + 90000, metric)
    if ms is not None:
        path += "&as_of=%d" % ms
    status, answer = ask(d, "GET", path)
    if status != 200:
        return status, str(answer)
    out = {}
    for s in answer:
        tags = " ".join("%s=%s" % (k, s["tags"][k]) for k in sorted(s["tags"]))
        for t, v in s["dps"].items():
            out[(tags, int(t) // 1000)] = v
    return status, out


def compare(d, metric, model, name):
    status, now = read(d, metric)
    check(name + ": now", now if status == 200 else {}, model.now)
    exact = 0
    for ms, was, writes in model.moments:
        status, got = read(d, metric, ms)
        gone = any(model.writes[k] - writes.get(k, 0) >= N for k in model.writes)
        if gone and status != 200:
            holds(name + ": the error says why", "not known any more" in got, got)
            continue
        check("%s: as of %d" % (name, ms), got if status == 200 else got, was)
        exact += 1
    return exact


def listed(d, metric, model, name):
    """The list of versions: the last values of each time, in the order of their writing."""
    status, answer = ask(d, "GET", "/api/query?start=%d&end=%d&m=none:%s&versions=true" % (BASE - 10, BASE + 90000, metric))
    check(name + ": status", status, 200)
    got, alive = {}, {}
    for v in answer:
        key = (" ".join("%s=%s" % (k, v["tags"][k]) for k in sorted(v["tags"])), v["timestamp"])
        got.setdefault(key, []).append(v["value"])
        holds(name + ": written", v["written"] <= time.time() * 1000 and v.get("deleted", v["written"]) >= v["written"], v)
        alive[key] = None if "deleted" in v else v["value"]
    check(name, got, {k: v[-N:] for k, v in model.values.items()})
    check(name + ": what was deleted last", {k: v for k, v in alive.items() if v is not None}, model.now)


def write(d, model, rnd, n):
    lines = []
    for _ in range(n):
        s, t = rnd.choice(SERIES), BASE + rnd.choice((0, 1, 5, 3599, 3600, 7200, 80000)) + rnd.randrange(3)
        v = rnd.choice((rnd.randrange(-5, 1000), round(rnd.random() * 9, 2)))
        lines.append("put stats.users %d %s %s\n" % (t, v, s))
        model.now[(s, t)] = v
        model.writes[(s, t)] = model.writes.get((s, t), 0) + 1
        model.values.setdefault((s, t), []).append(v)
    d.send("".join(lines))
    d.sync()


def delete(d, model, rnd):
    s = rnd.choice(SERIES)
    a = BASE + rnd.choice((0, 3600, 7000))
    b = a + rnd.choice((1, 400, 80000))
    filters = "{%s}" % s.replace(" ", ",")
    status, answer = ask(d, "DELETE", "/api/delete?start=%d&end=%d&m=none:stats.users%s" % (a, b, filters))
    check("it is deleted", status, 200)
    tags = dict(p.split("=") for p in s.split())
    for k in [k for k in model.now if a <= k[1] <= b]:
        if all(p in k[0].split() for p in s.split()):
            del model.now[k]
    return tags


def before_it_began(d):
    """A metric that had points when it began: they count as they are, and what was replaced is not known."""
    d.run("versions", "set", "stats.old", "2", "--port", str(d.port))
    time.sleep(0.005)
    ms = int(time.time() * 1000)
    time.sleep(0.005)
    check("older points count as they are", read(d, "stats.old", ms), (200, {("country=nz", BASE): 5, ("country=nz", BASE + 1): 6}))
    status, answer = read(d, "stats.old", ms - 60000)
    check("before it began", status, 400)
    holds("it says since when", "keeps versions since" in answer, answer)
    d.send("put stats.old %d 7 country=nz\nput stats.old %d 8 country=de\n" % (BASE, BASE))
    d.sync()
    status, answer = read(d, "stats.old", ms)
    check("a value that was replaced", status, 400)
    holds("it is not known", "is not known" in answer, answer)
    status, answer = ask(d, "PUT", "/api/series?start=%d&end=%d&series=stats.old" % (BASE, BASE + 9), [])
    check("nothing is replaced", status, 400)
    holds("since it would leave no versions", "keeps versions" in str(answer), answer)
    p = subprocess.run([binary(), "replace", "--series", "stats.old", "--from", str(BASE), "--to", str(BASE + 9), "--port", str(d.port), "-"],
                       input="stats.old %d 1 country=nz\n" % BASE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check("nor by the command", p.returncode, 1)
    holds("and it says which command stores the points", "tsd import without --bulk stores" in p.stdout, p.stdout)
    now = int(time.time() * 1000) + 5
    check("now", read(d, "stats.old", now), (200, {("country=nz", BASE): 7, ("country=nz", BASE + 1): 6, ("country=de", BASE): 8}))


def older_than_the_versions(d):
    """Points that were there when the metric began: in the future, and deleted afterwards."""
    future = BASE + 10 * 86400
    d.send("put stats.later %d 10 country=nz\nput stats.later %d 1 country=nz\n" % (future, BASE))
    d.sync()
    d.run("versions", "set", "stats.later", "5", "--port", str(d.port))
    time.sleep(0.005)
    ms = int(time.time() * 1000)
    time.sleep(0.005)
    path = "/api/query?start=%d&end=%d&m=none:stats.later&as_of=%d"
    check("a forecast counts as it is", ask(d, "GET", path % (future - 9, future + 9, ms))[0], 200)
    d.send("put stats.later %d 20 country=nz\n" % future)
    d.sync()
    check("a forecast that was replaced is not known", ask(d, "GET", path % (future - 9, future + 9, ms))[0], 400)
    check("another range is", ask(d, "GET", path % (BASE - 9, BASE + 9, ms))[0], 200)
    ask(d, "DELETE", "/api/delete?start=%d&end=%d&m=none:stats.later" % (BASE, BASE + 1))
    check("what was deleted is not known", ask(d, "GET", path % (BASE - 9, BASE + 9, ms))[0], 400)
    check("functions list no versions", ask(d, "GET", "/api/query/gexp?start=%d&end=%d&exp=scale(none:stats.later,2)&versions" % (BASE - 9, BASE + 9))[0], 400)
    d.stop()
    out = d.run("delete", str(BASE), str(future + 9), "none", "stats.later", "--data", d.data, check=False)
    holds("a folder's points are not deleted past their versions", out.returncode == 1 and "keeps versions" in out.stderr, out.stderr)
    d.start()


def main():
    rnd = random.Random(7)
    model = Model()
    with Daemon(query_allow_delete="true", uid_allow_rename="true") as d:
        d.send("put stats.old %d 5 country=nz\nput stats.old %d 6 country=nz\n" % (BASE, BASE + 1))
        d.sync()
        status, answer = ask(d, "GET", "/api/query?start=%d&m=sum:stats.old&as_of=%d" % (BASE - 10, time.time() * 1000))
        check("a metric that keeps none", status, 400)
        holds("it says so", "keeps no versions" in str(answer), answer)
        d.run("versions", "set", "stats.users", str(N), "--port", str(d.port))
        model.moment()
        for step in range(60):
            what = rnd.randrange(12)
            if what < 7:
                write(d, model, rnd, rnd.randrange(1, 6))
            elif what == 7:
                delete(d, model, rnd)
            elif what == 8:
                d.flush("files")
            elif what == 9:
                d.flush("compact")
            elif what == 10 and step % 3 == 0:
                d.kill()
                d.start()
            if step % 3 == 0:
                model.moment()
        exact = compare(d, "stats.users", model, "after the steps")
        holds("most moments are still known", exact >= len(model.moments) // 3, exact)
        d.flush("compact")
        compare(d, "stats.users", model, "after a merge")
        listed(d, "stats.users", model, "the list")
        d.restart()
        compare(d, "stats.users", model, "after a restart")
        d.run("uid", "rename", "metrics", "stats.users", "stats.people", "--port", str(d.port))
        compare(d, "stats.people", model, "after a rename")
        status, answer = ask(d, "POST", "/api/incr", {"metric": "stats.people", "timestamp": BASE, "value": 1, "tags": {"country": "nz"}})
        check("no increments", status, 400)
        holds("increments are refused", "versions" in str(answer), answer)
        before_it_began(d)
        older_than_the_versions(d)
    end("versions")


main()
