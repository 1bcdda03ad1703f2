#!/usr/bin/env python3
"""A limit of the bytes of a running daemon: set by command and by HTTP; the oldest points go, the others are all there, what was removed is refused when
it is sent, and neither a kill nor a higher limit brings it back."""
import os
import random
import sys
import time

from metakit import ask, check, end, holds, refused
from tsdtest import Daemon, until

DAY = 86400
NOW = int(time.time()) // DAY * DAY
DAYS = 60
A_DAY = 4000
LIMIT = 1 << 20
rnd = random.Random(5)
values = {}  # time -> value


def stat(d, metric, **tags):
    return sum(float(r["value"]) for r in d.api("/api/stats")
               if r["metric"] == metric and all(r["tags"].get(k) == v for k, v in tags.items()))


def points(d):
    rows = d.api("/api/query?start=%d&end=%d&m=none:m.x" % (NOW - 400 * DAY, NOW + 10 * DAY))
    return {int(t): v for r in rows for t, v in r["dps"].items()}


def limit(d):
    return d.api("/api/retention?explain=true")["limit"]


def bytes_in(folder):
    total = 0
    for top, _, files in os.walk(folder):
        for f in files:
            try:
                total += os.path.getsize(os.path.join(top, f))
            except FileNotFoundError:  # a merge has replaced it
                pass
    return total


def fill(d, first, last):
    for day in range(first, last, -1):
        lines = []
        for k in range(A_DAY):
            t, v = NOW - day * DAY + k * (DAY // A_DAY), rnd.getrandbits(52)
            values[t] = v
            lines.append("put m.x %d %d h=a\n" % (t, v))
        d.send("".join(lines))
    d.sync()
    d.flush("files")


def shows_what_is_left(d, when):
    cutoff = limit(d)["cutoff"]
    want = {t: v for t, v in values.items() if cutoff is None or t * 1000 >= cutoff}
    seen = points(d)
    holds("%s: nothing that was removed is shown" % when, not set(seen) - set(want), sorted(set(seen) - set(want))[:3])
    holds("%s: all that is newer is there" % when, seen == want, (len(seen), len(want), cutoff))
    return cutoff


def removes_the_oldest(d):
    check("there is no limit", "limit" in d.api("/api/retention"), False)
    shows_what_is_left(d, "without a limit")
    status, answer = ask(d, "POST", "/api/retention?dry_run", {"maxBytes": LIMIT})
    check("a dry run", (status, answer["limit"]["maxBytes"]), (200, LIMIT))
    holds("says what would go", answer["limit"]["next"] > (NOW - DAYS * DAY) * 1000 and answer["limit"]["freedBytes"] > 1 << 18, answer)
    check("and changes nothing", "limit" in d.api("/api/retention"), False)
    status, answer = ask(d, "POST", "/api/retention", {"maxBytes": "1M"})
    check("it is set", (status, answer["limit"]["maxBytes"], answer["limit"]["source"]), (200, LIMIT, "set"))
    until("points are removed", lambda: limit(d)["cutoff"])
    until("the store is within its limit", lambda: (d.flush("compact"), limit(d)["bytes"] <= LIMIT)[1])
    until("the folder is too", lambda: bytes_in(d.data) <= LIMIT + (1 << 16))
    cutoff = shows_what_is_left(d, "after the first time")
    holds("not more than necessary has gone", limit(d)["bytes"] > LIMIT * 3 / 4, limit(d))
    check("stats have the limit", stat(d, "tsd.storage.quota.max_bytes"), LIMIT)
    check("and the cutoff", stat(d, "tsd.storage.quota.cutoff_s"), cutoff // 1000)
    fill(d, 1, -6)
    until("newer points push out older ones", lambda: (d.flush("compact"), limit(d)["cutoff"] > cutoff and limit(d)["bytes"] <= LIMIT)[1])
    return shows_what_is_left(d, "later")


def refuses_what_is_older(d, cutoff):
    before = stat(d, "tsd.rpc.errors", type="expired")
    text = d.talk("put m.x %d 5 h=a\nput m.x %d 6 h=a\nsync\n" % (cutoff // 1000 - 1, cutoff // 1000 + 1)).decode()
    values[cutoff // 1000 + 1] = 6
    holds("an older point is refused", "max_bytes leaves room for points from %d on" % (cutoff // 1000) in text, text)
    holds("a newer one is taken", "ok 1" in text, text)
    check("and counted", stat(d, "tsd.rpc.errors", type="expired") - before, 1)
    for bad in ({"maxBytes": 5}, {"maxBytes": "much"}, {"maxBytes": -1}, {"maxBytes": LIMIT, "add": ["m points=1d"]}):
        check("%s is refused" % bad, refused(ask(d, "POST", "/api/retention", bad))[0], 400)


def stays_away(d):
    cutoff = limit(d)["cutoff"]
    d.kill()
    d.start()
    check("a kill changes nothing", limit(d)["cutoff"], cutoff)
    shows_what_is_left(d, "after a kill")
    d.run("retention", "max-bytes", "100G", "--port", str(d.port))
    d.flush("compact")
    check("nor does a higher limit", shows_what_is_left(d, "with a higher limit"), cutoff)
    out = d.run("retention", "--port", str(d.port)).stdout
    holds("the command lists it", "max_bytes %d" % (100 << 30) in out, out)
    d.run("retention", "max-bytes", "none", "--port", str(d.port))
    until("the cutoff is cleared", lambda: (d.flush("compact"), limit(d)["cutoff"] is None)[1])
    holds("nothing comes back", points(d) == {t: v for t, v in values.items() if t * 1000 >= cutoff})
    d.send("put m.x %d 7 h=a\n" % (NOW - 50 * DAY))
    d.sync()
    check("old points are taken again", points(d).get(NOW - 50 * DAY), 7)


def main():
    with Daemon(workers=2, memstore_bytes="256K", reserve_bytes=0, max_bytes_grace_s=0) as d:
        fill(d, DAYS, 1)
        cutoff = removes_the_oldest(d)
        refuses_what_is_older(d, cutoff)
        stays_away(d)
        d.stop()
    return end("max_bytes")


if __name__ == "__main__":
    sys.exit(main())
