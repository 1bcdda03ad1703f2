#!/usr/bin/env python3
"""Connections at their limits: more clients than descriptors, max_connections at its edge, idle ones, replies under way at a stop."""
import json
import os
import socket
import stat
import tempfile
import time

from metakit import check, end, holds
from tsdtest import Daemon, binary

T0 = 1500000000


def is_open(s):
    """Has the daemon kept a connection that says nothing?"""
    s.settimeout(0.05)
    try:
        return s.recv(1) != b""
    except socket.timeout:
        return True
    except OSError:
        return False


def http(s, method, path, body=b""):
    """Status and body on a connection that stays open."""
    s.settimeout(300)
    s.sendall(b"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (method.encode(), path.encode(), len(body), body))
    got = b""
    while b"\r\n\r\n" not in got:
        got += s.recv(65536)
    head, _, rest = got.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            while len(rest) < int(line.split(b":")[1]):
                rest += s.recv(65536)
    return status, rest


def rejected(s):
    rows = json.loads(http(s, "GET", "/api/stats")[1])
    return {r["tags"]["reason"]: int(r["value"]) for r in rows if r["metric"] == "tsd.connections.rejected"}


def few_descriptors():
    """256 descriptors, 400 clients: the daemon lives, takes points, writes files."""
    with tempfile.TemporaryDirectory() as folder:
        program, name = binary(), folder + "/tsd"
        with open(name, "w", encoding="ascii") as f:
            f.write('#!/bin/sh\nulimit -n 256\nexec "%s" "$@"\n' % program)
        os.chmod(name, stat.S_IRWXU)
        before, os.environ["TSD"] = os.environ.get("TSD"), name
        with Daemon(workers=2) as d:
            conns = [d.connect() for _ in range(400)]
            alive = [s for s in conns if is_open(s)]
            holds("some are refused, most of what is left is given", 100 < len(alive) < 192, len(alive))
            lines, web = alive[0], alive[1]
            for day in range(20):
                lines.sendall(b"".join(b"put few.m %d %d h=%d\n" % (T0 + day * 86400 + i, i, i % 7) for i in range(50)))
                lines.settimeout(300)
                lines.sendall(b"sync\n")
                check("sync", lines.recv(100).split()[0], b"ok")
                check("flush", http(web, "POST", "/api/admin/flush?level=files")[0], 200)
            check("merge", http(web, "POST", "/api/admin/flush?level=compact")[0], 200)
            counts = rejected(web)
            holds("they are counted", counts["open_files"] >= 400 - len(alive) and counts["max_connections"] == 0, counts)
            for s in conns:
                s.close()
            until = time.monotonic() + 120
            while time.monotonic() < until:
                try:
                    rows = d.api("/api/query?start=%d&end=%d&m=sum:0all-count:few.m" % (T0, T0 + 30 * 86400))
                    break
                except OSError:
                    time.sleep(0.05)
            check("every point is there", sum(rows[0]["dps"].values()), 1000)
        if before:
            os.environ["TSD"] = before
        else:
            del os.environ["TSD"]


def edge():
    """max_connections = 5: five are served, the sixth is not."""
    with Daemon(workers=2, max_connections=5) as d:
        conns = []
        until = time.monotonic() + 60
        while time.monotonic() < until:  # the connection that saw the start may still be there
            conns = [d.connect() for _ in range(6)]
            open_ones = [is_open(s) for s in conns]
            if open_ones == [True] * 5 + [False]:
                break
            for s in conns:
                s.close()
            time.sleep(0.05)
        check("five of six", open_ones, [True] * 5 + [False])
        check("they are served", http(conns[0], "GET", "/api/version")[0], 200)
        holds("the sixth is counted", rejected(conns[0])["max_connections"] >= 1)
        for s in conns:
            s.close()


def loopback():
    """max_connections = 20: one loopback address has 16 of them, all together 18; another one is served beside the first."""
    with Daemon(workers=1, max_connections=20) as d:
        held = [s for s in (d.connect() for _ in range(40)) if is_open(s)]
        check("eight tenths", len(held), 16)
        others = [socket.create_connection(("127.0.0.1", d.port), 120, ("127.0.0.2", 0)) for _ in range(10)]
        others = [s for s in others if is_open(s)]
        check("nine tenths together", len(others), 2)
        check("another address is served", http(others[0], "GET", "/api/version")[0], 200)
        holds("the others are counted", rejected(others[0])["max_connections_per_address"] >= 24 + 8)
        for s in others + held:
            s.close()


def idle():
    """idle_timeout_s: a silent connection is closed, one that works is not."""
    with Daemon(workers=1, idle_timeout_s=2) as d:
        quiet, busy = d.connect(), d.connect()
        quiet.settimeout(0.2)
        until, closed = time.monotonic() + 120, False
        while not closed and time.monotonic() < until:
            check("a busy one is served", http(busy, "GET", "/api/version")[0], 200)
            try:
                closed = quiet.recv(1) == b""
            except socket.timeout:
                pass
        check("a silent one is closed", closed)
        busy.close()
    with Daemon(workers=1) as d:
        quiet = d.connect()
        time.sleep(3)
        check("without the key nobody is", is_open(quiet))
        quiet.close()


def stop():
    """A reply that is under way when the daemon is told to stop arrives whole."""
    with Daemon(workers=2, stop_timeout_s=60) as d:
        d.send("".join("put stop.m %d %d.25 s=s%03d\n" % (T0 + i, i, s) for s in range(100) for i in range(3000)))
        d.sync()
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", d.port))
        s.settimeout(300)
        s.sendall(b"GET /api/query?start=%d&end=%d&m=none:stop.m HTTP/1.1\r\nHost: localhost\r\n\r\n" % (T0, T0 + 3000))
        got = s.recv(1000)
        check("it has begun", got[:12], b"HTTP/1.1 200")
        d.proc.terminate()
        time.sleep(0.5)
        check("the daemon waits", d.proc.poll(), None)
        while piece := s.recv(1 << 20):
            got += piece
        holds("the reply is whole", got.endswith(b"]\r\n0\r\n\r\n") and got.count(b'"metric"') == 100, got[-40:])
        s.close()
        check("then it ends in order", d.proc.wait(120), 0)


def incomplete():
    """max_incomplete_requests = 4 of one worker: the oldest goes, the newest and whole requests are served."""
    with Daemon(workers=1, max_incomplete_requests=4) as d:
        text, conns = b"POST /api/put HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n[", []
        for i in range(7):
            s = d.connect()
            s.sendall(text[:20] if i % 2 else text)
            s.settimeout(300)
            conns.append(s)
            check("whole requests are served", d.api("/api/version")["version"] != "")  # and the worker has seen it
        for i, s in enumerate(conns[:3]):
            got = s.recv(4096)
            holds("the oldest are given up", got.startswith(b"HTTP/1.1 503") and b"max_incomplete_requests" in got, (i, got))
        for i, s in enumerate(conns[3:], 3):
            s.sendall((text[20:] if i % 2 else b"") + b"]")
            check("the others are served when they are whole", s.recv(4096)[:12], b"HTTP/1.1 204")
        rows = {r["tags"].get("type"): r["value"] for r in d.api("/api/stats") if r["metric"] == "tsd.http.incomplete"}
        check("counted", rows, {"dropped": "3"})


few_descriptors()
incomplete()
edge()
loopback()
idle()
stop()
end("connections")
