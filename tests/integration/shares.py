#!/usr/bin/env python3
"""One client address cannot take the memory of the others: replies that nobody reads, on a daemon with memory_limit = 64M."""
import http.client
import json
import socket
import struct
import threading

from metakit import end, holds as check
from tsdtest import Daemon, until

T0 = 1500000000
ONE, OTHER = "127.0.0.1", "127.0.0.2"


def connect(d, address, small=False):
    s = socket.socket()
    if small:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(300)
    s.bind((address, 0))
    s.connect(("127.0.0.1", d.port))
    return s


def ask(d, address, path, method="GET", body=None):
    """(status, body) on a connection of its own."""
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300, source_address=(address, 0))
    c.request(method, path, body)
    r = c.getresponse()
    text = r.read()
    c.close()
    return r.status, text


def accounts(d):
    """{"name account": value} of memory."""
    rows = [line.split() for line in ask(d, OTHER, "/stats")[1].decode().splitlines()]
    return {"%s %s" % (r[0][len("tsd.memory."):], r[3].partition("=")[2]): int(r[2]) for r in rows if r[0].startswith("tsd.memory.")}


def fill(s, data):
    """Send as much as the daemon takes in."""
    s.settimeout(0.2)
    try:
        s.sendall(data)
    except OSError:
        pass


def replies(d):
    """40 connections with pipelined requests whose answers nobody reads, which come again when they are cut."""
    requests = b"GET /api/stats HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000
    limit = accounts(d)["limit_bytes replies"]
    held = []

    def hold():
        held.append(connect(d, ONE, small=True))
        fill(held[-1], requests)
        now = accounts(d)
        return now["used_bytes replies"] > limit // 4 and len(held) >= 40
    until("one address fills its share", hold, 300)
    now = accounts(d)
    check("one address has at most half of the account", now["peak_bytes replies"] <= limit // 2 + (256 << 10), now)
    for _ in range(20):
        status, text = ask(d, OTHER, "/api/stats")
        check("another address gets its answer", status == 200 and text.endswith(b"]"), (status, text[-100:]))
        status, text = ask(d, OTHER, "/api/query?start=%d&m=sum:small.m" % T0)
        check("and small queries", status == 200, (status, text))
        check("also this one, as long as it reads", ask(d, ONE, "/api/stats")[0] == 200)
    for s in held:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    until("closed clients give it back", lambda: accounts(d)["used_bytes replies"] < limit // 8)


def streams(d):
    """More unread long replies of one address than it may have: the next is refused by name, another address gets its own."""
    # 6 MB each, more than the kernel's buffers take
    path, held = "/api/query?start=%d&end=%d&m=none:big.m" % (T0, T0 + 8000), []
    limit = accounts(d)["limit_bytes streams"]

    def refused():
        held.append(connect(d, ONE, small=True))
        held[-1].sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
        return held[-1].recv(12) == b"HTTP/1.1 503"
    until("one address has as many as it may", refused, 300)
    now = accounts(d)
    check("it is the address that is refused", now["refused_per_address streams"] > 0, now)
    check("that is at most half of the account", now["used_bytes streams"] <= limit // 2 and now["refused streams"] == 0, now)
    status, text = ask(d, OTHER, path)
    check("another address gets a long reply", status == 200 and text.endswith(b"]"), (status, text[-100:]))
    for s in held:
        s.close()


def points(k):
    """A body of 60 KB."""
    return json.dumps([{"metric": "put.m", "timestamp": T0 + k, "value": i, "tags": {"host": "h%03d" % i}} for i in range(800)])


def bodies(d):
    """Queries of three addresses that take all they may: puts of the usual size are taken meanwhile, and no account goes above its limit."""
    over = threading.Event()
    heavy = ("sum:1s-avg-zero:big.m", "p99:1s-avg:big.m%7Bs=*%7D", "none:1s-avg-zero:big.m", "none:big.m")

    def load(address, k):
        while not over.is_set():
            try:
                ask(d, address, "/api/query?start=%d&end=%d&m=%s" % (T0 - 86400 * 20, T0 + 3000, heavy[k % len(heavy)]))
            except (OSError, http.client.HTTPException):  # an answer that a limit ends is cut
                pass
    threads = [threading.Thread(target=load, args=("127.0.0.%d" % (10 + k % 3), k)) for k in range(24)]
    for t in threads:
        t.start()
    until("queries meet a limit", lambda: accounts(d)["refused process"] + accounts(d)["refused queries"] + accounts(d)["refused_per_address queries"] > 0, 300)
    for k in range(60):
        status, text = ask(d, OTHER, "/api/put", "POST", points(k))
        check("a put of the usual size is taken", status == 204, (status, text))
    over.set()
    for t in threads:
        t.join()
    now = accounts(d)
    check("queries stay below their limit", now["peak_bytes queries"] <= now["limit_bytes queries"], now)
    check("no body was refused", now["refused bodies"] + now["refused_per_address bodies"] == 0, now)


def main():
    with Daemon(workers=2, memory_limit="64M", query_max_running=4, query_reply_buffer_bytes="256k", write_stall_timeout_s="3600") as d:
        d.send("".join("put big.m %d %d.25 s=s%03d\n" % (T0 + i, i, k) for k in range(40) for i in range(8000)))
        d.send("put small.m %d 1 a=b\n" % (T0 + 1))
        d.sync()
        replies(d)
        d.keys.update(stream_total_bytes="1M")  # a few replies, so that slow builds get there
        d.restart()
        streams(d)
        d.keys.update(query_total_bytes="100M", query_max_bytes="40M", query_max_running=16)
        d.restart()
        bodies(d)
        d.keys.update(query_total_bytes="8M", query_max_bytes="4M", query_max_running=64)
        d.restart()
        bodies(d)
    end("shares")


if __name__ == "__main__":
    main()
