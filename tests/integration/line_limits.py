#!/usr/bin/env python3
"""Clients of the line protocol that cost more than they bring: streams of commands, syncs without end, lines that never end. Others are served
between them, memory stays bounded, and what was promised (an answer to each sync, points of silent clients) is kept."""
import os
import re
import socket
import sys
import time

from metakit import check, end, holds
from tsdtest import Daemon

T0 = 1500000000
SANITIZED = bool(os.environ.get("TEST_SANITIZE"))       # a sanitizer keeps freed memory


def read_until(s, done):
    got = b""
    while not done(got):
        piece = s.recv(1 << 16)
        if not piece:
            break
        got += piece
    return got


def stat(d, name, kind):
    return sum(int(s["value"]) for s in d.api("/api/stats") if s["metric"] == "tsd." + name and s["tags"].get("type") == kind)


def resident_mib(d):
    return int(re.search(r"VmRSS:\s+(\d+)", open("/proc/%d/status" % d.proc.pid).read()).group(1)) >> 10


def commands(d):
    """33,000 stats lines arrive at once at the only worker; another client's line does not wait for their end."""
    flood, calm = d.connect(), d.connect()
    calm.sendall(b"version\n")
    read_until(calm, lambda got: got.count(b"\n") == 2)
    before, n = stat(d, "rpc.received", "telnet"), 33000
    flood.sendall(b"stats\n" * n)
    calm.sendall(b"stats\n")
    got = read_until(calm, lambda got: b"tsd.storage" in got and got.endswith(b"\n"))
    seen = int(re.search(rb"tsd.rpc.received \d+ (\d+) type=telnet", got).group(1)) - before
    holds("another client is served in between", seen < n, (seen, n))
    flood.shutdown(socket.SHUT_WR)
    flood.settimeout(300)
    while flood.recv(1 << 20):
        pass
    holds("all are looked at in the end", stat(d, "rpc.received", "telnet") >= before + n)
    flood.close()
    calm.close()


def deaf_commands(d):
    """Answers of commands that nobody reads are dropped like errors; points go on."""
    before = stat(d, "rpc.errors", "socket_writes_blocked")
    d.send("put deaf.m %d 1 h=b\n" % T0)
    d.sync()        # the metric is known
    s = d.connect()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for i in range(20):
        s.sendall(b"help\n" * 20000 + b"put deaf.m %d 1 h=a\nhelp\n" % (T0 + i))
    until = time.monotonic() + 120
    rows = []
    while time.monotonic() < until and not (rows and sum(rows[0]["dps"].values()) == 20):
        rows = d.api("/api/query?start=%d&end=%d&m=sum:0all-count:deaf.m%%7Bh=a%%7D" % (T0 - 1, T0 + 100))
    holds("a deaf client's points", rows and sum(rows[0]["dps"].values()) == 20, rows)
    holds("its answers are dropped and counted", stat(d, "rpc.errors", "socket_writes_blocked") > before + 100000)
    s.close()


def syncs(d):
    """Each sync is answered in its order with its own count, however many come at once."""
    n = 5000
    s = d.connect()
    s.sendall(b"".join(b"put sync.m %d 1 h=a\nsync\n" % (T0 + i) for i in range(n)))
    got = read_until(s, lambda got: got.count(b"\n") == n)
    check("5,000 syncs between points", got == b"".join(b"ok %d\n" % (i + 1) for i in range(n)))
    s.close()
    before = resident_mib(d)
    s = d.connect()
    s.settimeout(2)
    sent = 0
    try:
        while sent < 200 << 20:
            sent += s.send(b"sync\n" * 20000)
    except OSError:
        pass        # nobody reads any more, as it should be
    holds("syncs without end are not read without end", sent < 100 << 20, sent)
    other = d.connect()
    other.sendall(b"put sync.m %d 1 h=b\nsync\n" % T0)
    check("another client's sync", read_until(other, lambda got: got.endswith(b"\n")), b"ok 1\n")
    other.close()
    if not SANITIZED:
        holds("memory", resident_mib(d) - before < 30, resident_mib(d) - before)
    s.shutdown(socket.SHUT_WR)
    s.settimeout(300)
    answers = 0
    while got := s.recv(1 << 20):
        answers += got.count(b"ok 0\n" if got.startswith(b"ok") else b"\n")
    holds("who reads again gets all answers", abs(answers - sent // 5) <= sent // 5 // 1000 + 10, (answers, sent / 5))
    s.close()


def unfinished(d):
    """Half a line that never ends is given up; silence between lines is not."""
    d.keys = {"line_read_timeout_s": 1}
    d.restart()
    silent, half, drip, long = d.connect(), d.connect(), d.connect(), d.connect()
    silent.sendall(b"put silent.m %d 1 h=a\n" % T0)
    half.sendall(b"put half.m %d 1 h=a\nput half.m" % T0)
    long.sendall(b"x" * 100000)
    said = b"line has no end after 1 s (line_read_timeout_s)\n"
    check("half a line", read_until(half, lambda got: False), said)
    check("a line too long, without end", read_until(long, lambda got: False).split(b"\n", 1)[1], said)
    drip.settimeout(0.1)
    got, until = b"", time.monotonic() + 120
    while time.monotonic() < until:
        try:
            drip.sendall(b"x")
            piece = drip.recv(100)
            got += piece
            if not piece:
                break
        except socket.timeout:
            continue
        except OSError:
            break
    check("drops of a line", got, said)
    silent.sendall(b"put silent.m %d 1 h=a\nsync\n" % (T0 + 1))
    check("who is silent between lines stays", read_until(silent, lambda got: got.endswith(b"\n")), b"ok 2\n")
    check("counted", stat(d, "connectionmgr.exceptions", "line_read_timeout"), 3)
    rows = d.api("/api/query?start=%d&end=%d&m=sum:half.m" % (T0 - 1, T0 + 1))
    check("the lines before are stored", len(rows), 1)


def main():
    with Daemon(workers=1) as d:
        commands(d)
        deaf_commands(d)
        syncs(d)
        unfinished(d)
    end("line limits")


if __name__ == "__main__":
    sys.exit(main())
