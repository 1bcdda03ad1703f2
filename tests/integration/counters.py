#!/usr/bin/env python3
"""Counters: increments of many connections at once, by lines and by HTTP, are summed exactly, also across a restart, a flush and merges; times follow
counter_resolution; what is refused is named, and with /api/incr it is known which increments were made."""
import threading

from metakit import ask, end, holds
from tsdtest import Daemon

T0 = 1500000000
COUNTERS, EACH, CLIENTS = 40, 2400, 8
STEPS = (1, 3, 7, 9, 11, 13, 17, 19)      # each has no divisor in common with COUNTERS


def sums(d, metric, m="sum:0all-sum", start=T0 - 86400):
    """Sum of all points of each series."""
    status, rows = ask(d, "GET", "/api/query?start=%d&end=%d&m=%s:%s%%7Bpage=*%%7D" % (start, T0 + 86400, m, metric))
    return {r["tags"]["page"]: sum(r["dps"].values()) for r in rows} if status == 200 else {}


def lines(d, client, seconds):
    """Each client adds 1 to all counters in its own order, and asks for confirmation now and then."""
    s = d.connect()
    text = []
    for i in range(EACH):
        page = i * STEPS[client] % COUNTERS
        text.append("incr hits %d 1 page=p%d\n" % (T0 + i % seconds, page))
        if i % 480 == 479:
            s.sendall("".join(text + ["sync\n"]).encode())
            text = []
    s.shutdown(1)
    said = b"".join(iter(lambda: s.recv(65536), b""))
    return said.count(b"ok ") == EACH // 480 and said.count(b"\n") == EACH // 480


def by_http(d, client):
    for k in range(EACH // 240):
        body = [{"metric": "hits", "timestamp": T0 + i, "value": 1, "tags": {"page": "p%d" % (i * STEPS[client] % COUNTERS)}}
                for i in range(240)]
        if ask(d, "POST", "/api/incr", body)[0] != 204:
            return False
    return True


def many_at_once(d):
    done = [None] * CLIENTS

    def client(i):
        done[i] = lines(d, i, 3600) if i % 4 else by_http(d, i)
    threads = [threading.Thread(target=client, args=(i,)) for i in range(CLIENTS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    holds("all clients were confirmed", all(done), done)


def exact(d, when):
    got = sums(d, "hits")
    holds("sums are exact " + when, got == {"p%d" % i: CLIENTS * EACH // COUNTERS for i in range(COUNTERS)}, got)


def resolution(d):
    d.talk("incr web.x %d 1 page=a\nincr web.x %d 2 page=a\nincr web.y %d 4 page=a\nincr day %d 1 page=a\n" % (T0, T0 + 59, T0 + 60, T0))
    points = {m: ask(d, "GET", "/api/query?start=%d&end=%d&m=sum:%s" % (T0 - 86400, T0 + 3600, m))[1][0]["dps"] for m in ("web.x", "web.y", "day")}
    holds("times are rounded down to the resolution of the metric",
          points == {"web.x": {str(T0): 3}, "web.y": {str(T0 + 60): 4}, "day": {str(T0 - T0 % 86400): 1}}, points)


def refused(d):
    said = d.talk("incr bad 1 x a=b\nincr bad %d\nincr good %d 5 page=a\nsync\n" % (T0, T0)).decode()
    holds("bad lines are named, others count", said.splitlines()[0].startswith("incr: ") and said.splitlines()[1].startswith("incr: ")
          and said.endswith("ok 1\n") and sums(d, "good") == {"a": 5}, said)
    good, bad = ({"metric": m, "timestamp": T0, "value": 1, "tags": {"page": "a"}} for m in ("good", "b a d"))
    status, answer = ask(d, "POST", "/api/incr?details", [good, bad, good])
    holds("the answer says which increments were not made", status == 400 and answer["success"] == 2 and answer["failed"] == 1
          and answer["errors"][0]["datapoint"]["metric"] == "b a d", answer)
    holds("and the others were", sums(d, "good") == {"a": 7})
    holds("GET adds nothing", ask(d, "GET", "/api/incr")[0] == 405)


def main():
    with Daemon(counter_resolution="web.*=1m,day=1d", memstore_bytes="1m") as d:
        many_at_once(d)
        exact(d, "at once")
        d.flush("compact")
        exact(d, "in files")
        d.restart()
        exact(d, "after a restart")
        d.kill()
        d.start()
        exact(d, "after a kill")
        many_at_once(d)
        holds("sums go on", sums(d, "hits")["p7"] == 2 * CLIENTS * EACH // COUNTERS)
        resolution(d)
        refused(d)
    end("counters")


main()
