#!/usr/bin/env python3
"""memory_limit = 64M and series without end: new ones are refused by name, the daemon stays below its limit and answers everybody; idle connections
that sent long heads, and points of bodies, are counted."""
import os
import socket
import threading

from memory_limit import MIB, accounts, resident
from metakit import ask, end, holds as check
from tsdtest import Daemon, until

T0 = 1500000000
STEP = 20000


class Answers(threading.Thread):
    """Reads what the daemon says to lines, so that it never waits for us."""

    def __init__(self, s):
        super().__init__(daemon=True)
        self.s, self.first, self.counts = s, b"", []
        self.changed = threading.Condition()

    def run(self):
        rest = b""
        while got := self.take():
            *whole, rest = (rest + got).split(b"\n")
            with self.changed:
                for line in whole:
                    if line.startswith(b"ok "):
                        self.counts.append(int(line[3:]))
                    elif not self.first:
                        self.first = line
                self.changed.notify()

    def take(self):
        try:
            return self.s.recv(1 << 16)
        except OSError:                         # closed by us
            return b""

    def synced(self, n):
        with self.changed:
            self.changed.wait_for(lambda: len(self.counts) >= n, 300)
            return self.counts[n - 1]


def put_now(d):
    """Status and answer of a put, or None: the store was behind, as it may be for a moment while series come."""
    status, answer = ask(d, "POST", "/api/put", {"metric": "known", "timestamp": T0 + 1, "value": 1, "tags": {"a": "b"}})
    return None if status == 503 and "throttle" in answer["error"]["message"] else (status, answer)


def usable(d, what):
    """All ways in still work for what is known."""
    check(what + ": version", ask(d, "GET", "/api/version")[0] == 200)
    status, rows = ask(d, "GET", "/api/query?start=%d&m=sum:known" % T0)
    check(what + ": query", status == 200 and len(rows[0]["dps"]) > 0, (status, rows))
    status, rows = ask(d, "POST", "/api/query", {"start": T0, "queries": [{"metric": "known", "aggregator": "sum"}]})
    check(what + ": query by POST", status == 200, (status, rows))
    status, answer = until("a put is not asked to come later", lambda: put_now(d))
    check(what + ": put", status == 204, (status, answer))
    check(what + ": lines", b"tsd" in d.talk("put known %d 1 a=b\nversion\nexit\n" % (T0 + 2)))


def flood(d):
    d.send("put known %d 1 a=b\n" % T0)
    d.sync()
    s = d.connect()
    s.settimeout(300)
    answers = Answers(s)
    answers.start()
    stored, steps = 0, 0
    while steps < 30:
        first = steps * STEP
        s.sendall("".join("put m %d 1 host=some-longer-name-%d dc=ab\n" % (T0, i) for i in range(first, first + STEP)).encode() + b"sync\n")
        steps += 1
        now = answers.synced(steps)
        if now == stored:
            break
        stored = now
        usable(d, "with %d series" % stored)
    check("a new series is refused, with the keys", b"memory_limit" in answers.first and b"max_series" in answers.first, answers.first)
    check("not the first ones", 30000 < stored < 30 * STEP, stored)
    problems = [p["what"] for p in ask(d, "GET", "/api/tsd/status")[1]["health"]["problems"]]
    check("the health says so", "points of new series are refused: memory_limit is reached" in problems, problems)
    check("the refusals are counted", any(r["metric"] == "tsd.rpc.errors" and r["tags"].get("type") == "max_series" and int(r["value"]) > 0
                                          for r in ask(d, "GET", "/api/stats")[1]))
    status, answer = ask(d, "POST", "/api/uid/assign", {"metric": ["another"]})
    check("names too", status == 400 and "memory_limit" in answer["metric_errors"]["another"], (status, answer))
    if not os.environ.get("TEST_SANITIZE"):
        check("the process stays below its limit", resident(d) < 64 * MIB, resident(d) >> 20)
    print("series_limit: %d series, resident at most %d MiB" % (stored, resident(d) >> 20))
    s.close()
    usable(d, "at the limit")
    d.restart()
    usable(d, "after a restart")


def long_heads(d):
    """Keep-alive connections that sent a long head each and are silent."""
    table = accounts(d)["connections"]
    n = 3 * table["limitBytes"] // (32 << 10)
    held = []
    for _ in range(n):
        s = d.connect()
        s.sendall(b"GET /api/version HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 30000 + b"\r\n\r\n")
        got = b""
        while b'"version"' not in got and (more := s.recv(1 << 16)):
            got += more
        held.append(s)
        if not got.startswith(b"HTTP/1.1 200"):
            break
    check("each is answered", len(held) == n and got.startswith(b"HTTP/1.1 200"), (len(held), n, got[:300]))
    check("heads of requests that are over take no memory", accounts(d)["connections"]["usedBytes"] < 4096 * n, accounts(d)["connections"])
    for s in held:
        s.close()


def points_of_bodies(d):
    """A body of small points takes many times its size once it is read."""
    d.keys["http_body_total_bytes"] = "1M"
    d.restart()
    point = b'{"metric":"known","timestamp":%d,"value":1,"tags":{"a":"b"}},' % T0
    for packed in (b"{},", point):
        body = b"[" + packed * (600000 // len(packed)) + packed[:-1] + b"]"
        s = d.connect()
        s.sendall(b"POST /api/put HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body))
        s.sendall(body)
        got = b""
        while more := s.recv(1 << 16):
            got += more
        check("points that do not fit are refused with the key", got.startswith((b"HTTP/1.1 413", b"HTTP/1.1 503")) and b"http_body_total_bytes" in got, got[:300])
        check("within the account", accounts(d)["bodies"]["peakBytes"] <= MIB, accounts(d)["bodies"])
    until("all is given back", lambda: accounts(d)["bodies"]["usedBytes"] < 64 << 10)
    usable(d, "with small bodies")


def main():
    with Daemon(workers=2, memory_limit="64M", new_series_per_min=0, new_series_per_min_total=0) as d:
        flood(d)
        long_heads(d)
        points_of_bodies(d)
    end("series_limit")


if __name__ == "__main__":
    main()
