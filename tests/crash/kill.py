#!/usr/bin/env python3
"""kill -9 at random moments of a load over several connections; after each restart the store is compared with what is known outside.

    kill.py [--rounds N] [--seed N] [--conns N]

Checked after every kill: each point that `sync` or a 204 had confirmed, or a query had shown, is there with its value; none is there
that was not sent; what survives of a connection has no hole before its last surviving line of the same series. Exit 0: all held.
"""
import argparse
import json
import os
import random
import socket
import sys
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from tsdtest import Daemon  # noqa: E402

BASE = 1700000000
SERIES = 8        # series a connection writes, in turn
BLOCK = 600       # lines a write


def value(conn, i):
    return (i * 7919 + conn) % 100003


class Conn(threading.Thread):
    """One line connection: line i goes to series i mod SERIES at second BASE + i."""

    def __init__(self, number):
        super().__init__()
        self.number, self.sent, self.confirmed = number, 0, 0
        self.start_at = 0
        self.ranges = []        # lines [a, b) that sync confirmed, by round

    def prepare(self, daemon):
        super().__init__()
        self.daemon_, self.start_at = daemon, self.sent
        self.ranges.append((self.sent, self.sent))

    def run(self):
        try:
            s = socket.create_connection(("127.0.0.1", self.daemon_.port), 10)
            s.settimeout(10)
            rng = random.Random(self.number * 1000 + self.sent)
            while True:
                n = rng.randrange(1, BLOCK)
                i = self.sent
                lines = "".join("put crash.lines %d %d conn=%d s=%d\n" % (BASE + k, value(self.number, k), self.number, k % SERIES) for k in range(i, i + n))
                self.sent += n          # before sending: any part of it may survive
                s.sendall(lines.encode())
                if rng.random() < 0.3:
                    s.sendall(b"sync\n")
                    answer = b""
                    while not answer.endswith(b"\n"):
                        got = s.recv(100)
                        if not got:
                            return
                        answer += got
                    if not answer.startswith(b"ok "):
                        print("DIFFERENT: answer to sync: %r" % answer)
                        os._exit(1)
                    self.confirmed += self.start_at + int(answer[3:]) - self.ranges[-1][1]
                    self.ranges[-1] = (self.start_at, self.start_at + int(answer[3:]))
        except OSError:
            return


class Http(threading.Thread):
    """Posts of 100 points each; a 204 confirms."""

    def __init__(self):
        super().__init__()
        self.sent, self.confirmed = 0, set()

    def prepare(self, daemon):
        super().__init__()
        self.daemon_ = daemon

    def run(self):
        while True:
            i = self.sent
            body = [{"metric": "crash.http", "timestamp": BASE + k, "value": value(99, k), "tags": {"conn": "h"}} for k in range(i, i + 100)]
            self.sent += 100
            req = urllib.request.Request("http://127.0.0.1:%d/api/put" % self.daemon_.port, json.dumps(body).encode(), {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(req, timeout=10) as f:
                    if f.status == 204:
                        self.confirmed.update(range(i, i + 100))
            except (OSError, urllib.error.URLError, Exception):
                return


class Asker(threading.Thread):
    """Asks for one series again and again: what was shown must stay."""

    def __init__(self):
        super().__init__()
        self.shown = {}

    def prepare(self, daemon):
        super().__init__()
        self.daemon_ = daemon

    def run(self):
        while True:
            try:
                self.shown.update(points(self.daemon_, "crash.lines", "conn=0,s=3"))
            except Exception:
                return
            time.sleep(0.02)


def points(daemon, metric, tags):
    """{time: value} of one series; a metric or tag not seen yet is an empty answer."""
    try:
        r = daemon.api("/api/query?start=%d&end=%d&m=none:%s%%7B%s%%7D" % (BASE - 1, BASE + 10**8, metric, tags.replace(",", "%2C").replace("=", "%3D")))
    except urllib.error.HTTPError as e:
        if e.code == 400:
            return {}
        raise
    out = {}
    for series in r:
        out.update({int(t): v for t, v in series["dps"].items()})
    return out


def check(daemon, conns, http, asker):
    bad = 0

    def say(text):
        nonlocal bad
        bad += 1
        print("DIFFERENT: " + text)

    for c in conns:
        for s in range(SERIES):
            got = points(daemon, "crash.lines", "conn=%d,s=%d" % (c.number, s))
            sent = [k for k in range(s, c.sent, SERIES)]
            n = len(got)
            for t, v in got.items():
                k = t - BASE
                if k >= c.sent or k % SERIES != s or k < 0:
                    say("invented point %d of connection %d series %d" % (k, c.number, s))
                elif v != value(c.number, k):
                    say("point %d of connection %d is %r, sent %d" % (k, c.number, v, value(c.number, k)))
            lost = [k for a, b in c.ranges for k in range(a + (s - a) % SERIES, b, SERIES) if BASE + k not in got]
            if lost:
                say("%d confirmed points of connection %d series %d are lost, first %d; confirmed were %r" % (len(lost), c.number, s, lost[0], c.ranges))
            this_round = [k for k in sent if k >= c.start_at]
            there = [BASE + k in got for k in this_round]
            if False in there and True in there[there.index(False):]:
                say("connection %d series %d has a hole at line %d" % (c.number, s, this_round[there.index(False)]))
    got = points(daemon, "crash.http", "conn=h")
    lost = [k for k in http.confirmed if got.get(BASE + k) != value(99, k)]
    if lost:
        say("%d points confirmed with 204 are lost, first %d" % (len(lost), min(lost)))
    if any(t - BASE >= http.sent or t < BASE for t in got):
        say("invented HTTP points")
    got = points(daemon, "crash.lines", "conn=0,s=3")
    lost = [t for t, v in asker.shown.items() if got.get(t) != v]
    if lost:
        say("%d points that a query had shown are gone" % len(lost))
    return bad


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=10)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--conns", type=int, default=3)
    a = ap.parse_args()
    rng = random.Random(a.seed)
    print("seed %d, %d rounds" % (a.seed, a.rounds))
    daemon = Daemon(workers=2, memstore_bytes="1M")
    conns, http, asker = [Conn(i) for i in range(a.conns)], Http(), Asker()
    bad = 0
    for round_ in range(a.rounds):
        daemon.keys["wal_sync"] = rng.choice(["always", "interval", "interval", "none"])
        daemon.start(rng.choice([1, 2, 3]))
        # A connection goes on where the last kill found it; lines lost unconfirmed are not sent again, so holes may be at a round's start only.
        threads = [*conns, http, asker]
        for t in threads:
            t.prepare(daemon)
            t.daemon = True
            t.start()
        time.sleep(rng.random() ** 2 * 1.2)
        daemon.kill()
        for t in threads:
            t.join(20)
        daemon.start(rng.choice([1, 2, 3]))
        bad += check(daemon, conns, http, asker)
        if rng.random() < 0.5:
            daemon.stop()
        else:
            daemon.kill()
        if bad:
            print("round %d of %d, data kept in %s" % (round_ + 1, a.rounds, daemon.data))
            os._exit(1)
    print("%d kills: %d lines sent, %d confirmed, %d by HTTP: nothing lost, nothing invented" %
          (a.rounds, sum(c.sent for c in conns), sum(c.confirmed for c in conns), len(http.confirmed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
