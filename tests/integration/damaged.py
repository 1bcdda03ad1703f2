#!/usr/bin/env python3
"""A data file is damaged below a running daemon: what needs the block gets a clear error over HTTP, all else is answered, the daemon
lives and takes points, `tsd fsck` names the place and repairs it."""
import glob
import json
import random
import re
import urllib.error

from metakit import end, holds as check
from tsdtest import Daemon

T0 = 1500000000 - 1500000000 % 3600
N = 3 * 3600            # points a series, one a second: three hours
ILL, WELL = ["a.ill", "b.ill"], ["y.well", "z.well"]
RANGE = "start=%d&end=%d" % (T0, T0 + N)


def ask(d, path):
    try:
        return 200, json.loads(d.http(path))
    except urllib.error.HTTPError as e:
        return e.code, json.loads(e.read())


def points_of(d, metric):
    """Values by time, or (status, answer) of a refused query."""
    status, answer = ask(d, "/api/query?%s&m=none:%s" % (RANGE, metric))
    return {int(t): v for t, v in answer[0]["dps"].items()} if status == 200 and answer else (status, answer)


def fill(d):
    """Random decimals, so that a metric takes several blocks."""
    rnd, want = random.Random(1), {}
    for metric in ILL + WELL:
        want[metric] = {T0 + i: round(rnd.uniform(0, 100), 4) for i in range(N)}
        d.send("".join("put %s %d %.4f host=h1\n" % (metric, t, v) for t, v in want[metric].items()))
    check("points", d.sync() == N * len(ILL + WELL))
    d.flush("files")
    return want


def damage(d):
    """Flip a bit of the first and of a later block: of the rows of a.ill and b.ill. Series stand in the file by metric."""
    files = sorted(glob.glob(d.data + "/files/*.t"))
    check("one file", len(files) == 1, files)
    with open(files[0], "r+b") as f:
        size = f.seek(0, 2)
        for at in (100, size * 3 // 8):     # four metrics of about the same size
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 4]))
    return files[0]


def must_refuse(d, path, metric, when):
    status, answer = points_of(d, metric)
    text = answer["error"]["message"] if isinstance(answer, dict) else ""
    check("%s: %s is refused with 500" % (when, metric), status == 500, (status, answer))
    for part in (path, "is damaged", "%s host=h1" % metric, "tsd fsck"):
        check("%s: the error of %s says %s" % (when, metric, part), part in text, text)
    check("%s: the error says the time" % when, re.search(r"2017-07-14 0\d:00 to 2017-07-14 0\d:\d\d UTC", text), text)


def look(d, path, want, when):
    for metric in ILL:
        must_refuse(d, path, metric, when)
    for metric in WELL:
        check("%s: %s is whole" % (when, metric), points_of(d, metric) == want[metric])
    status, answer = ask(d, "/api/query?%s&m=none:%s&m=none:%s" % (RANGE, WELL[0], ILL[0]))
    check("%s: a query of both is refused" % when, status == 500 and "is damaged" in answer["error"]["message"], (status, answer))
    status, answer = ask(d, "/api/query?start=%d&end=%d&m=none:%s" % (T0 + 10 * 3600, T0 + 11 * 3600, ILL[0]))
    check("%s: times that are not in the block" % when, status == 200 and len(answer) <= 1, (status, answer))
    d.send("put later.m %d 1 host=h1\n" % T0)
    check("%s: it takes points" % when, d.sync() >= 1)
    check("%s: and shows them" % when, points_of(d, "later.m") == {T0: 1})
    check("%s: it lives" % when, d.proc.poll() is None)


def repair(d, path, want):
    found = d.run("fsck", "--data", d.data, check=False)
    check("fsck finds damage", found.returncode == 4, (found.returncode, found.stdout))
    for metric in ILL:
        check("fsck names %s and its time" % metric,
              re.search(r"lost: %s host=h1, 2017-07-14 0\d:00 to 2017-07-14 0\d:59 UTC, \d+ points \(%s\)" % (metric, re.escape(path)), found.stdout),
              found.stdout)
    for metric in WELL:
        check("fsck says nothing of %s" % metric, metric not in found.stdout, found.stdout)
    lost = {m: sum(int(n) for n in re.findall(r"lost: %s .*?, (\d+) points" % m, found.stdout)) for m in ILL}
    check("repair", d.run("fsck", "--data", d.data, "--repair", check=False).returncode == 1)
    d.start()
    for metric in WELL:
        check("repaired: %s is whole" % metric, points_of(d, metric) == want[metric])
    for metric in ILL:
        have = points_of(d, metric)
        have = have if isinstance(have, dict) else {}
        check("repaired: %s has the points of whole blocks" % metric, all(want[metric][t] == v for t, v in have.items()), have)
        check("repaired: %s lacks what was listed" % metric, len(have) == N - lost[metric], (len(have), lost))


def main():
    with Daemon(workers=2) as d:
        want = fill(d)
        path = damage(d)
        look(d, path, want, "below a running daemon")
        d.restart()
        look(d, path, want, "after a restart")
        d.stop()
        repair(d, path, want)
    end("damaged")


if __name__ == "__main__":
    main()
