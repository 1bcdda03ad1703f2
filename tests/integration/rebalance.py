#!/usr/bin/env python3
"""The number of shards changes while connections put points and number increments: tsd rebalance waits for the change and says what there is, nothing is lost or
counted twice, and the longest time that a put and its sync took is printed."""
import os
import threading
import time

from metakit import ask, end, holds
from tsdtest import Daemon

T0 = 1500000000
CONNECTIONS = 4
SERIES = 500          # increments of one sequence, so that each shard has some of them
stop = threading.Event()


def measure(d, i, out):
    """Puts, and a sync after each few: how long the answer took, and how many points were confirmed."""
    with d.connect() as s, s.makefile("rb") as answers:
        s.settimeout(60)
        k = 0
        while not stop.is_set():
            began = time.monotonic()
            s.sendall("".join("put m%d %d %d host=h%d\n" % (i, T0 + k, k, h) for h in range(50)).encode() + b"sync\n")
            said = answers.readline()
            if not said.startswith(b"ok "):
                out["bad"] = said
                return
            k += 1
            out["n"] = k
            out["longest"] = max(out["longest"], time.monotonic() - began)


def increments(d, out):
    """One client by HTTP: each sequence adds 1 to every counter; the last one is repeated now and then."""
    name = "%d-%s" % (time.time(), os.urandom(8).hex())
    seq = 0
    while not stop.is_set():
        seq += 1
        body = {"id": name, "seq": seq, "points": [{"metric": "hits", "timestamp": T0, "value": 1, "tags": {"page": "p%d" % i}} for i in range(SERIES)]}
        for _ in range(2 if seq % 5 == 0 else 1):
            status, answer = ask(d, "POST", "/api/incr", body)
            if status not in (200, 204):
                out["bad"] = (status, answer)
                return
        out["n"] = seq


def change(d, n, most_s=60):
    """Ask until it has changed: a sequence that is on its way may be in some shards only for a moment."""
    until = time.monotonic() + most_s
    while time.monotonic() < until:
        said = d.run("rebalance", "--shards", str(n), "--port", str(d.port)).stdout
        if said.split()[0] == str(n):
            return said
        time.sleep(0.05)
    return said


def main():
    with Daemon(workers=3, memstore_bytes="4m") as d:
        puts = [{"n": 0, "longest": 0.0, "bad": None} for _ in range(CONNECTIONS)]
        incr = {"n": 0, "bad": None}
        threads = [threading.Thread(target=measure, args=(d, i, p)) for i, p in enumerate(puts)] + [threading.Thread(target=increments, args=(d, incr))]
        for t in threads:
            t.start()
        time.sleep(1)
        before = max(p["longest"] for p in puts)
        for n in (64, 8, 16, 64, 1, 16):
            holds("%d shards" % n, change(d, n) == "%d shard%s\n" % (n, "" if n == 1 else "s"))
            time.sleep(0.2)
        stop.set()
        for t in threads:
            t.join()
        holds("all is taken", all(p["bad"] is None for p in puts + [incr]), puts + [incr])
        print("longest put and sync: %.0f ms before, %.0f ms while the number of shards changed; the last stop took %s ms" %
              (before * 1000, max(p["longest"] for p in puts) * 1000, [r["value"] for r in d.api("/api/stats") if r["metric"] == "tsd.storage.shards_stop_ms"][0]))
        for restarted in (False, True):
            if restarted:
                d.restart(workers=2)
            for i, p in enumerate(puts):
                rows = ask(d, "GET", "/api/query?start=%d&end=%d&m=sum:m%d%%7Bhost=*%%7D" % (T0, T0 + p["n"], i))[1]
                holds("points of %d" % i, sum(len(r["dps"]) for r in rows) == 50 * p["n"])
            rows = ask(d, "GET", "/api/query?start=%d&end=%d&m=sum:hits%%7Bpage=*%%7D" % (T0 - 1, T0 + 1))[1]
            holds("increments", len(rows) == SERIES and all(sum(r["dps"].values()) == incr["n"] for r in rows), incr)
        status, answer = ask(d, "GET", "/api/admin/rebalance")
        holds("the number is kept", (status, answer) == (200, {"shards": 16, "wanted": 16}), answer)
    end("rebalance")


main()
