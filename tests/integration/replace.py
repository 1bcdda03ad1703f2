#!/usr/bin/env python3
"""tsd replace and PUT /api/series on a real daemon: readers see the old points or the new ones, whoever reads, puts, or kills meanwhile."""
import http.client
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from metakit import ask, check, end, holds
from tsdtest import Daemon, binary

T0 = 1700000000
N = 3000


def points(d, what="m.x", agg="none"):
    rows = d.api("/api/query?" + urllib.parse.urlencode({"start": T0 - 100000, "end": T0 + 10000000, "m": f"{agg}:{what}"}))
    return {r["tags"].get("host", ""): {int(t): v for t, v in r["dps"].items()} for r in rows}


def put(d, series, start, end, body, **more):
    path = "/api/series?" + urllib.parse.urlencode({"series": series, "start": start, "end": end, **more})
    return ask(d, "PUT", path, body)


def point(t, v, host="a", metric="m.x"):
    return {"metric": metric, "timestamp": t, "value": v, "tags": {"host": host}}


def fill(d):
    d.send("".join(f"put m.x {T0 + i * 60} {i} host={h}\n" for h in "ab" for i in range(10)))
    d.sync()


def by_http(d):
    old = points(d)
    status, answer = put(d, "m.x{host=a}", T0 + 120, T0 + 300, [point(T0 + 130, 100), point(T0 + 125, 99.5), point(T0 + 130, 101)])
    check("what is replaced is counted", (status, answer), (200, {"series": 1, "deleted": 4, "written": 2}))
    want = {t: v for t, v in old["a"].items() if not T0 + 120 <= t <= T0 + 300}
    want.update({T0 + 130: 101, T0 + 125: 99.5})
    check("the new points are there, the others have not changed", points(d), {"a": want, "b": old["b"]})
    for why, body, text in (
            ("another series", [point(T0 + 130, 1, "b")], "not among the series"),
            ("a later time", [point(T0 + 301, 1)], "outside of start and end"),
            ("an earlier time", [point(T0 + 119, 1)], "outside of start and end"),
            ("one of several that is no number", [point(T0 + 130, 1), point(T0 + 131, "x")], "point 2 of the body"),
            ("no tags", [{"metric": "m.x", "timestamp": T0 + 130, "value": 1, "tags": {}}], "it has no tags"),
            ("no points", "nonsense", "JSON")):
        status, answer = put(d, "m.x{host=a}", T0 + 120, T0 + 300, body)
        holds(f"{why} is refused", status == 400 and text in answer["error"]["message"], (status, answer))
    rule = f"m.x points={int(time.time() - T0) // 3600 + 1}h"
    d.run("retention", "add", *rule.split(), "--port", str(d.port))
    status, answer = put(d, "m.x{host=a}", T0 - 86400, T0 + 300, [point(T0 + 130, 1), point(T0 - 7200, 1)])
    d.run("retention", "remove", *rule.split(), "--port", str(d.port))
    holds("a point that has expired is refused", status == 400 and "point 2 of the body is refused: the point has expired" in answer["error"]["message"], (status, answer))
    status, answer = put(d, "m.unknown", T0, T0 + 1, [])
    holds("an unknown metric is refused", status == 400 and "No such name" in answer["error"]["message"], answer)
    check("and nothing has changed", points(d), {"a": want, "b": old["b"]})
    check("a new series belongs to them", put(d, "m.x", T0, T0 + 300, [point(T0 + 7, 7, "c")]), (200, {"series": 3, "deleted": 10, "written": 1}))
    got = points(d)
    check("which has its point", got["c"], {T0 + 7: 7})
    check("and others have none in the range", [min(got[h]) for h in "ab"], [T0 + 360, T0 + 360])
    mixed = [point(T0 + t, 10 * i + t, h) for t in range(3) for i, h in enumerate("bcd")]
    check("points of several series in any order", put(d, "m.x", T0, T0 + 2, mixed), (200, {"series": 4, "deleted": 0, "written": 9}))
    got = points(d)
    check("stay with their series", [[got[h].get(T0 + t) for t in range(3)] for h in "bcd"], [[10 * i + t for t in range(3)] for i in range(3)])
    check("an instant is a range", put(d, "m.x{host=b}", T0 + 1, T0 + 1, [point(T0 + 1, 5, "b")]), (200, {"series": 1, "deleted": 1, "written": 1}))
    got["b"][T0 + 1] = 5
    check("of exactly that time", points(d), got)
    check("nothing leaves nothing", put(d, "m.x", T0, T0 + 9000, [])[1]["written"], 0)
    check("at all", points(d), {})
    check("no folder is left", d.run("import", "--bulk", "--list", "--port", str(d.port)).stderr.strip(), "tsd: there is no bulk load")


def exactly(d, folder):
    """Dates are of the zone that the request names, and the range is exact, also where deletes of queries are of whole hours."""
    fill(d)
    old = points(d)
    status, answer = put(d, "m.x{host=a}", "2023/11/14-23:15:20", "2023/11/14-23:18:20", [point(T0 + 130, 100)], tz="Europe/Berlin")
    check("dates of a zone", (status, answer), (200, {"series": 1, "deleted": 4, "written": 1}))
    want = {t: v for t, v in old["a"].items() if not T0 + 120 <= t <= T0 + 300}
    want[T0 + 130] = 100
    check("exactly these points are replaced", points(d), {"a": want, "b": old["b"]})
    status, answer = put(d, "m.x{host=a}", "2023/11/14-23:15:20", "2023/11/14-23:18:20", [], tz="Europe/Nowhere")
    holds("an unknown zone", status == 400 and "Europe/Nowhere" in answer["error"]["message"], (status, answer))
    new = os.path.join(folder, "zone.txt")
    with open(new, "w", encoding="ascii") as f:
        f.write(f"m.x {T0 + 130} 200 host=a\n")
    where = ("--series", "m.x{host=a}", "--from", "2023/11/14-23:13:20", "--to", "2023/11/14-23:18:20", "--port", str(d.port))
    out = d.run("replace", new, *where, "--tz", "Europe/Berlin").stderr
    holds("dates of a zone in the command", "tsd: 3 points were replaced" in out, out)
    want = {t: v for t, v in want.items() if t > T0 + 300}
    want[T0 + 130] = 200
    check("exactly these points are replaced by it", points(d), {"a": want, "b": old["b"]})
    r = d.run("replace", new, *where, "--tz", "Europe/Nowhere", check=False)
    holds("an unknown zone in the command", r.returncode == 2 and "Europe/Nowhere" in r.stderr, r.stderr)
    put(d, "m.x", T0, T0 + 9000, [])


def by_command(d, folder):
    new = os.path.join(folder, "new.txt")
    with open(new, "w", encoding="ascii") as f:
        f.write("".join(f"m.x {T0 + i} {i % 7} host=a\n" for i in range(N)))

    def run(*more, **kw):
        return d.run("replace", new, "--series", "m.x{host=a}", "--from", str(T0), "--to", str(T0 + N), "--port", str(d.port), *more, **kw)
    fill(d)
    b = points(d)["b"]
    out = run().stderr
    holds("the command says what it replaced", "tsd: 10 points were replaced" in out and "3,000 points" in out, out)
    check("it has", points(d), {"a": {T0 + i: i % 7 for i in range(N)}, "b": b})
    with open(new, "a", encoding="ascii") as f:
        f.write("nonsense\n")
    r = run(check=False)
    holds("a bad line changes nothing", r.returncode == 1 and "nothing is replaced: not all lines can be stored" in r.stderr, r.stderr)
    outside = os.path.join(folder, "outside.txt")
    for line, text in ((f"m.x {T0 + 2} 1 host=b", "m.x host=b at 2023-11-14T22:13:22Z is of no series that is replaced"),
                       (f"m.x {T0 - 1}.500 1 host=a", "m.x host=a at 2023-11-14T22:13:19.500Z is outside of the times"),
                       (f"m.x {T0 + N + 1} 1 host=a", "m.x host=a at 2023-11-14T23:03:21Z is outside of the times")):
        with open(outside, "w", encoding="ascii") as f:
            f.write(f"m.x {T0 + 1} 1 host=a\nm.x {T0 + N} 1 host=a\n" + line + "\n")
        r = d.run("replace", outside, "--series", "m.x{host=a}", "--from", str(T0), "--to", str(T0 + N), "--port", str(d.port), check=False)
        holds("the first point outside is named", r.returncode == 1 and text in r.stderr, r.stderr)
    once = os.path.join(folder, "once.txt")
    with open(once, "w", encoding="ascii") as f:
        f.write(f"m.x {T0 + N} 99 host=a\n")
    was = points(d)
    out = d.run("replace", once, "--series", "m.x{host=a}", "--from", str(T0 + N), "--to", str(T0 + N), "--port", str(d.port)).stderr
    was["a"][T0 + N] = 99
    holds("one instant", points(d) == was and "1 point" in out, out)
    d.run("replace", "/dev/null", "--series", "m.x{host=a}", "--from", str(T0 + N), "--to", str(T0 + N), "--port", str(d.port), "--empty")
    del was["a"][T0 + N]
    check("is emptied alone", points(d), was)
    for words in (("--series", "m.x{host=a", "--from", str(T0), "--to", str(T0 + 1)), ("--series", "m.x", "--from", "then", "--to", str(T0 + 1)),
                  ("--series", "m.x", "--from", str(T0), "--to", str(T0 - 1))):
        r = d.run("replace", "/dev/null", *words, "--port", "1", check=False)  # before a file is read or the daemon is asked
        holds("wrong words", r.returncode == 2 and "see tsd help replace" in r.stderr, (words, r.stderr))
    where = ("--series", "m.x{host=a}", "--from", str(T0), "--to", str(T0 + 1), "--port", str(d.port))
    r = d.run("replace", "/dev/null", *where, check=False)
    holds("no points at all change nothing", r.returncode == 1 and "nothing is replaced: the files have no points; to delete the range, add --empty" in r.stderr, r.stderr)
    r = d.run("replace", new, "--series", "m.x", "--port", str(d.port), check=False)
    holds("a range is needed", r.returncode == 2 and "say what is replaced" in r.stderr, r.stderr)
    check("nothing has changed", points(d), {"a": {T0 + i: i % 7 for i in range(N)}, "b": b})
    out = d.run("replace", "/dev/null", *where, "--empty").stderr
    holds("and what is gone was deleted", "tsd: 2 points were deleted" in out, out)
    check("unless it is said", min(points(d)["a"]), T0 + 2)


def side_by_side(d, folder):
    """Commands that end at the same time wait for each other."""
    procs = []
    for i in range(6):
        path = os.path.join(folder, f"side{i}.txt")
        with open(path, "w", encoding="ascii") as f:
            f.write("".join(f"m.side {T0 + t} {i} host=h{i}\n" for t in range(N)))
        procs.append(subprocess.Popen([binary(), "replace", path, "--series", f"m.side{{host=h{i}}}", "--from", str(T0), "--to", str(T0 + N), "--port", str(d.port)],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    for p in procs:
        out = p.communicate(timeout=300)[0]
        holds("a replacement beside others", p.returncode == 0, out)
    check("all are there", {h: len(v) for h, v in points(d, "m.side").items()}, {f"h{i}": N for i in range(6)})


def meanwhile(d):
    """Readers ask for sums while two versions of the same points replace each other."""
    wrong, stop = [], threading.Event()
    versions = [[point(T0 + i, k + 1, f"h{i % 5}", "m.sum") for i in range(500)] for k in range(2)]
    check("the first version", put(d, "m.sum", T0, T0 + 1000, versions[0])[0], 200)

    def read():
        while not stop.is_set():
            rows = d.api(f"/api/query?start={T0 - 10}&end={T0 + 2000}&m=sum:0all-sum:m.sum")
            got = sum(v for r in rows for v in r["dps"].values())
            if got not in (500, 1000):
                wrong.append(got)
    readers = [threading.Thread(target=read) for _ in range(3)]
    for t in readers:
        t.start()
    for k in range(20):
        put(d, "m.sum", T0, T0 + 1000, versions[k % 2])
        if k % 5 == 0:
            d.flush("files" if k % 2 else "compact")
    stop.set()
    for t in readers:
        t.join()
    check("who reads sees the old or the new", wrong[:5], [])


def killed(d):
    """kill -9 at some moment of a replacement: the sum is that of one version."""
    versions = [[point(T0 + i, k + 1, f"h{i % 5}", "m.sum") for i in range(500)] for k in range(2)]
    put(d, "m.sum", T0, T0 + 1000, versions[0])
    seen = set()

    def send(body):
        try:
            put(d, "m.sum", T0, T0 + 1000, body)
        except (OSError, http.client.HTTPException):
            pass
    for k in range(8):
        t = threading.Thread(target=send, args=(versions[(k + 1) % 2],))
        t.start()
        time.sleep(0.002 * (k + 1))
        d.kill()
        t.join()
        d.start()
        rows = d.api(f"/api/query?start={T0 - 10}&end={T0 + 2000}&m=sum:0all-sum:m.sum")
        seen.add(sum(v for r in rows for v in r["dps"].values()))
    holds("after a kill there is one version or the other", seen <= {500, 1000}, seen)


def forbidden(d):
    fill(d)
    status, answer = put(d, "m.x", T0, T0 + 60, [])
    holds("it needs query_allow_delete", status == 403 and "query_allow_delete" in answer["error"]["message"], (status, answer))
    r = d.run("replace", "/dev/null", "--series", "m.x", "--from", str(T0), "--to", str(T0 + 60), "--empty", "--port", str(d.port), check=False)
    holds("so does the command", r.returncode == 1 and "query_allow_delete" in r.stderr, r.stderr)
    check("nothing was deleted", sum(map(len, points(d).values())), 20)


def main():
    with tempfile.TemporaryDirectory(prefix="tsd-replace-") as folder:
        with Daemon(query_allow_delete="true") as d:
            exactly(d, folder)
            fill(d)
            by_http(d)
            by_command(d, folder)
            side_by_side(d, folder)
            meanwhile(d)
            killed(d)
        with Daemon(query_allow_delete="true", compat="opentsdb", auto_create_metrics="true") as d:
            exactly(d, folder)
    with Daemon() as d:
        forbidden(d)
    return end("replace")


if __name__ == "__main__":
    sys.exit(main())
