#!/usr/bin/env python3
"""The line protocol of a real daemon: sync, half-close, replies nobody reads, many connections, clients as collectors are, stop and restart."""
import socket
import time

from metakit import end, holds as check
from tsdtest import Daemon, together


def count(d, metric):
    """Points of a metric."""
    rows = d.api("/api/query?start=1&end=4000000000&m=sum:0all-count:%s" % metric)
    return int(sum(v for r in rows for v in r["dps"].values()))


def plain(d):
    check("half-close, last line without feed", d.talk(b"put a.m 1500000000 1 h=a\nput a.m 1500000001 2 h=a") == b"")
    check("both points", count(d, "a.m") == 2)
    out = d.talk(b"put b.m 1500000000 1 h=a\nsync\nput b.m\nput b.m 1500000001 1 h=a\nsync\nversion\n")
    check("two syncs in order", out.index(b"ok 1\n") < out.index(b"ok 2\n"), out)
    check("one refusal", out.count(b"put: illegal argument: not enough arguments (need least 4, got 1)\n") == 1, out)
    check("version", b"built at revision" in out, out)
    check("exit", d.talk(b"put c.m 1500000000 1 h=a\nexit\nput c.m 1500000001 1 h=a\n", shut=False) == b"")
    check("nothing after exit", count(d, "c.m") == 1)
    out = d.talk(b"stats\n")
    check("stats", b"\ntsd.rpc.received " in out and b" type=telnet host=" in out, out)
    for line in out.decode().strip().split("\n"):
        words = line.split(" ")
        check("line of stats", words[0].startswith("tsd.") and words[1].isdigit() and words[2].isdigit() and all("=" in w for w in words[3:]), line)


def collectors(d):
    """What real clients send (docs/COMPATIBILITY.md, "Clients that were run")."""
    collectd = b"".join(b"put load.load.shortterm %d 0.01513671875 fqdn=lab-cap  run=x lab=yes\r\n" % (1500000000 + i) for i in range(50))
    check("collectd", d.talk(collectd) == b"" and count(d, "load.load.shortterm") == 50)
    netdata = b"put prefix.system.cpu.guest 1500000000 0.0000000 host=lab _is_ephemeral=false _has_unstable_connection=false\n"
    check("netdata", d.talk(netdata) == b"" and count(d, "prefix.system.cpu.guest") == 1)
    statsd = b"put stats.x 1500000000 1 source=statsd\nput statsd.numStats 0 1500000000\nput stats.y 1500000000 2 source=statsd\n"
    out = d.talk(statsd)
    check("statsd: good lines stored", out.startswith(b"put: ") and out.count(b"\n") == 1 and count(d, "stats.x") == count(d, "stats.y") == 1, out)
    s = d.connect()
    for i in range(3):
        s.sendall(b"put tc.m %d 1 host=a\nversion\n" % (1500000000 + i))
        answer = b""
        while answer.count(b"\n") < 2:
            answer += s.recv(4096)
        check("tcollector's version", b"built at revision" in answer, answer)
    s.close()


def deaf(d):
    """A client that never reads: its bad lines must not stop its good ones."""
    s = d.connect()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    n = 40000
    for i in range(0, n, 1000):
        s.sendall(b"".join(b"put deaf.m %d 1 h=a\nput bad!%s 1 1 h=a\n" % (1500000000 + i + k, b"x" * 200) for k in range(1000)))
    s.shutdown(socket.SHUT_WR)
    until = time.monotonic() + 30
    while count(d, "deaf.m") < n and time.monotonic() < until:
        pass
    check("a deaf client's points", count(d, "deaf.m") == n, count(d, "deaf.m"))
    dropped = [x for x in d.api("/api/stats") if x["tags"].get("type") == "socket_writes_blocked"]
    check("dropped replies are counted", int(dropped[0]["value"]) > 0, dropped)
    s.close()


def crowd(d):
    """Many connections with pieces of lines, some torn off."""
    def one(k):
        s = d.connect()
        text = b"".join(b"put crowd.m %d %d conn=c%d\n" % (1500000000 + i, i, k) for i in range(2000))
        for at in range(0, len(text), 1777):
            s.sendall(text[at:at + 1777])
        s.sendall(b"sync\n")
        answer = s.recv(100)
        check("sync of connection %d" % k, answer == b"ok 2000\n", answer)
        if k % 2:
            s.sendall(b"put crowd.m 15000")
        s.close()
    together(*((one, k) for k in range(32)))
    check("points of the crowd", count(d, "crowd.m") == 64000, count(d, "crowd.m"))


def limits(d):
    out = d.talk(b"put long.m 1500000000 1 h=" + b"x" * 5000 + b"\nput long.m 1500000001 1 h=a\n")
    check("a long line costs one answer", out == b"put: illegal argument: line too long: more than 1024 bytes (line_max_bytes)\n" and count(d, "long.m") == 1, out)
    conns = [d.connect() for _ in range(60)]
    closed = 0
    for c in conns:
        c.settimeout(5)
        try:
            c.sendall(b"version\n")
            closed += c.recv(10) == b""
        except OSError:
            closed += 1
    check("connections above the limit are closed", 24 <= closed <= 33, closed)  # one loopback address has 32 of the 40
    for c in conns:
        c.close()


def behind(d):
    """The store is behind all the time: reading pauses, nothing is lost, sync is honest."""
    def one(k):
        s = d.connect()
        s.sendall(b"".join(b"put slow.m %d %d conn=c%d s=%d\n" % (1500000000 + i // 50, i, k, i % 50) for i in range(100000)))
        s.sendall(b"sync\n")
        answer = s.recv(100)
        check("sync behind", answer == b"ok 100000\n", answer)
        s.close()
    together(*((one, k) for k in range(4)))
    check("points of a store that is behind", count(d, "slow.m") == 400000, count(d, "slow.m"))
    pauses = [int(x["value"]) for x in d.api("/api/stats") if x["metric"] == "tsd.ingest.pauses"]
    print("the store was behind, reading paused %d times" % pauses[0])  # as often as the machine happens to be slow: test_store_behind shows that it does


def main():
    with Daemon(workers=2) as d:
        plain(d)
        collectors(d)
        deaf(d)
        crowd(d)
        d.restart(workers=1)
        check("after a restart", count(d, "crowd.m") == 64000 and count(d, "deaf.m") == 40000)
        s = d.connect()
        s.sendall(b"put late.m 1500000000 1 h=a\nsync\n")
        check("sync", s.recv(100) == b"ok 1\n")
        d.stop()  # an idle connection would hold it up for ever: stop waits 120 s
        check("it is closed", s.recv(10) == b"")
        s.close()
    with Daemon(workers=2, line_max_bytes=1024, max_connections=40) as d:
        limits(d)
    with Daemon(workers=3, queue_bytes="1M", memstore_bytes="1M") as d:
        behind(d)
    end("line protocol")


if __name__ == "__main__":
    main()
