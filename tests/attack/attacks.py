"""The attacks: what a hostile or broken client can send, one function each.

A function gets an Attack (port, until: end of its time) and goes on until a.over(). It may fail in any way: the daemon cuts, refuses and slows
attackers, and that is what is wanted. `counts` names the counters of /api/stats of which at least one must have grown
(metric, or metric with type=...); None: the daemon may serve it all. Sources: the reviews and attacks of version 0.1.
"""
import gzip
import json
import os
import random
import socket
import threading
import time


class Attack:
    def __init__(self, port, seconds):
        self.port, self.until = port, time.monotonic() + seconds
        self.sent = self.refused = 0

    def over(self):
        return time.monotonic() >= self.until

    def connect(self, timeout=5):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def raw(self, data, timeout=5, shut=False, most=1 << 20):
        """Send bytes on a connection of its own; what comes back (at most `most` bytes), empty when nothing does."""
        out = b""
        try:
            with self.connect(timeout) as s:
                s.sendall(data)
                if shut:
                    s.shutdown(socket.SHUT_WR)
                while len(out) < most and not (out.startswith(b"HTTP/") and complete(out)):
                    got = s.recv(1 << 16)
                    if not got:
                        break
                    out += got
        except OSError:
            pass
        self.sent += 1
        return out

    def post(self, path, body, headers=(), timeout=5):
        head = ["POST %s HTTP/1.1" % path, "Host: localhost", "Content-Type: application/json", "Content-Length: %d" % len(body), *headers]
        return self.raw(("\r\n".join(head) + "\r\n\r\n").encode() + body, timeout)

    def gzipped(self, path, body, timeout=5):
        return self.post(path, body, ("Content-Encoding: gzip",), timeout)

    def get(self, path, timeout=5, headers=()):
        return self.raw(("\r\n".join(["GET %s HTTP/1.1" % path, "Host: localhost", *headers]) + "\r\n\r\n").encode(), timeout)

    def many(self, n, function, *args):
        """function(self, *args) in n threads until the time is over."""
        def loop():
            while not self.over():
                try:
                    function(self, *args)
                except OSError:
                    time.sleep(0.05)
        threads = [threading.Thread(target=loop, daemon=True) for _ in range(n)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(max(0.1, self.until - time.monotonic() + 10))

    def hold(self, n, make):
        """Keep n connections of make(i) open until the time is over; what was cut is not made again."""
        held = []
        for i in range(n):
            if self.over():
                break
            try:
                held.append(make(i))
            except OSError:
                self.refused += 1
                time.sleep(0.01)
        while not self.over():
            time.sleep(0.05)
        for s in held:
            s.close()


def complete(answer):
    head, end, body = answer.partition(b"\r\n\r\n")
    lower = head.lower()
    if not end:
        return False
    if b"content-length:" in lower:
        return len(body) >= int(lower.split(b"content-length:")[1].split(b"\r\n")[0])
    return answer.endswith(b"0\r\n\r\n")


LOADED = {"series": 4000, "points": 240}  # what attack.py loads: attack.m{host=hN,cpu=cM} every 15 s from T0
T0 = 1600000000
QUERY = "/api/query?start=%d&end=%d&m=" % (T0, T0 + 3600)
_packed = {}


def packed(name, make):
    if name not in _packed:
        _packed[name] = gzip.compress(make(), 6)
    return _packed[name]


# --- lines and bodies that ended or froze the daemon ---
def histogram_without_tags(a):
    def one(a):
        a.raw(b"histogram h.m 1795312222 u=0:o=0:0,1.5=42 \nrollup 1h-sum h.m 1795312222 1 \nhistogram\nrollup\nput\nput m\n", shut=True)
        a.raw(b"histogram h.m 1795312222 " + b",".join(b"%d,%d=1" % (i, i + 1) for i in range(3000)) + b" a=b\n", shut=True)
    a.many(2, one)


def zeros(a):
    body = b"[" + b"0" * 4_000_000
    small = packed("zeros", lambda: b"[" + b"0" * 32_000_000)
    a.many(3, lambda a: (a.post("/api/put", body), a.gzipped("/api/put", small)))


def nested_arrays(a):
    many = packed("arrays", lambda: b"[" + b",".join([b"[]"] * 2_000_000) + b"]")
    nulls = packed("nulls", lambda: b"[" + b",".join([b"null,{}"] * 900_000) + b"]")
    subs = packed("subs", lambda: b'{"start":1,"queries":[' + b",".join([b"{}"] * 1_500_000) + b"]}")
    deep = b"[" * 200_000
    a.many(6, lambda a: (a.gzipped("/api/put", many), a.gzipped("/api/put?details", nulls), a.gzipped("/api/query", subs), a.post("/api/query", deep)))


def gzip_bombs(a):
    bomb = packed("bomb", lambda: b" " * 200_000_000)
    a.many(4, lambda a: (a.gzipped("/api/put", bomb), a.gzipped("/api/query", bomb)))


def filters(a):
    one = '{"type":"wildcard","tagk":"host","filter":"h*","groupBy":false}'
    body = gzip.compress(('{"start":%d,"queries":[{"aggregator":"sum","metric":"attack.m","filters":[%s]}]}' % (T0, ",".join([one] * 120_000))).encode())
    words = "|".join("w%d" % i for i in range(20_000))
    big = ('{"start":%d,"queries":[{"aggregator":"sum","metric":"attack.m","filters":[{"type":"iliteral_or","tagk":"host","filter":"%s","groupBy":true}]}]}'
           % (T0, words)).encode()
    a.many(4, lambda a: (a.gzipped("/api/query", body), a.post("/api/query", big)))


def regular_expressions(a):
    body = json.dumps({"start": T0, "queries": [{"aggregator": "sum", "metric": "attack.m", "filters": [
        {"type": "regexp", "tagk": "long", "filter": "(a|a|b){0,14}$", "groupBy": False}]}]}).encode()
    a.many(20, lambda a: a.post("/api/query", body, timeout=2))


# --- memory ---
def half_bodies(a):
    def make(i):
        s = a.connect(2)
        s.settimeout(1)
        s.sendall(b"POST /api/put HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7999999\r\n\r\n")
        try:
            s.sendall(b" " * 7_999_990)
        except OSError:
            a.refused += 1
        return s
    a.hold(150, make)


def dense_downsampling(a):
    paths = (QUERY.replace("start=%d" % T0, "start=1500000000") + "sum:1s-avg-zero:attack.m", QUERY + "p99:1s-avg:attack.m%7Bhost=*%7D",
             "/api/query?start=1970/01/01&end=3800/01/01&by=hour&fill=zero&m=sum:attack.m", QUERY + "p99:attack.m&by=",
             QUERY + "none:attack.m%7Bhost=*,cpu=*%7D")
    a.many(16, lambda a: a.get(random.choice(paths), timeout=10))


def big_answers_unread(a):
    """Clients that ask for a large answer and do not read it, or slowly."""
    def make(i):
        s = a.connect()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(("GET %snone:attack.m%%7Bhost=*,cpu=*%%7D&arrays HTTP/1.1\r\nHost: localhost\r\n\r\n" % QUERY).encode())
        return s
    a.hold(40, make)


def pipelined_unread(a):
    """Requests one after the other whose answers nobody reads, on 90 connections that come again when they are cut."""
    requests = b"GET /api/stats HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000
    def one(a):
        with a.connect(1) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(1)
            while not a.over():
                try:
                    s.sendall(requests)
                except TimeoutError:
                    if s.recv(1, socket.MSG_PEEK) == b"" or random.random() < 0.2:
                        return
    a.many(90, one)


def slow_readers(a):
    def one(a):
        with a.connect() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            s.sendall(("GET %snone:attack.m%%7Bhost=*,cpu=*%%7D HTTP/1.1\r\nHost: localhost\r\n\r\n" % QUERY).encode())
            while not a.over():
                s.recv(2048)
                time.sleep(0.05)
    a.many(20, one)


def pictures(a):
    a.many(16, lambda a: (a.get("/q?start=%d&end=%d&m=sum:attack.m%%7Bhost=*%%7D&png&wxh=8192x8192" % (T0, T0 + 3600), timeout=15),
                          a.get("/q?start=%d&end=%d&m=sum:attack.m&png&wxh=1000x800&nocache" % (T0, T0 + 3600), timeout=15)))


# --- lines ---
def syncs(a):
    def one(a):
        with a.connect() as s:
            while not a.over():
                s.sendall(b"sync\n" * 10_000)
    a.many(2, one)


def stats_lines(a):
    def one(a):
        with a.connect() as s:
            while not a.over():
                s.sendall(b"stats\nhelp\nversion\n" * 500)
    a.many(2, one)


def long_names(a):
    def one(a):
        name = b"n" * 59_000
        a.raw(b"".join(b"put %s%d %d 1 a=b\nput m %d 1 %s=%d\nput m %d 1 a=%s%d\n" % (name, random.randrange(10**9), T0, T0, name, random.randrange(10**9), T0, name, random.randrange(10**9)) for _ in range(20)), shut=True)
    a.many(4, one)


def new_series(a):
    def one(a):
        with a.connect() as s:
            while not a.over():
                at = random.randrange(10**12)
                s.sendall(b"".join(b"put flood.m %d 1 id=%d\n" % (T0, at + i) for i in range(5000)))
    a.many(4, one)


def half_lines(a):
    def make(i):
        s = a.connect()
        s.sendall(b"put half.m %d 1 host=" % T0 + b"x" * (i % 50_000))
        return s
    a.hold(600, make)


def valid_points(a):
    def one(a):
        with a.connect() as s:
            t = T0
            while not a.over():
                s.sendall(b"".join(b"put attack.m %d %d host=h%d cpu=c0\n" % (t + i, i, i % 1000) for i in range(5000)))
                t += 5
    a.many(2, one)


def bad_lines(a):
    def one(a):
        with a.connect() as s:
            junk = b"".join(random.choice((b"put\n", b"put x y z\n", b"put m 1 1\n", b"\x00\xff\n", b"histogram a\n", b"put m %d NaN a=b\n" % T0)) for _ in range(5000))
            while not a.over():
                s.sendall(junk)
    a.many(2, one)


def random_old_times(a):
    def one(a):
        with a.connect() as s:
            while not a.over():
                s.sendall(b"".join(b"put attack.old %d 1 host=h%d\n" % (random.randrange(1, T0), i % 1000) for i in range(2000)))
    a.many(2, one)


# --- connections ---
def idle_connections(a):
    a.hold(12_000, lambda i: a.connect(1))


def half_requests(a):
    def make(i):
        s = a.connect(1)
        s.sendall(b"GET /api/version HTTP/1.1\r\nHost: localhost\r\nX: ")
        return s
    a.hold(9_000, make)


def churn(a):
    def one(a):
        for _ in range(100):
            a.connect(1).close()
    a.many(4, one)


# --- the web ---
def foreign_pages(a):
    """What a page of another site can make a browser send; nothing of it may change anything."""
    foreign = ("Origin: http://evil.example", "Sec-Fetch-Site: cross-site")
    def one(a):
        for host in ("localhost", "evil.example"):
            head = ("POST /api/put HTTP/1.1\r\nHost: %s\r\nContent-Type: text/plain\r\nContent-Length: %%d\r\n%s\r\n\r\n" % (host, "\r\n".join(foreign)))
            body = b'{"metric":"evil.m","timestamp":1600000000,"value":1,"tags":{"a":"b"}}'
            a.raw((head % len(body)).encode() + body)
        for path in ("/api/uid/rename?metric=attack.m&name=evil", "/api/uid/delete?metric=attack.m", "/api/annotation/bulk?start_time=1&method_override=delete",
                     "/api/annotation?start_time=1600000000&description=evil&method_override=post", "/api/dropcaches", "/api/admin/flush"):
            a.get(path, headers=foreign)
    a.many(2, one)


def annotations(a):
    body = json.dumps({"startTime": T0, "description": "x" * 4_000_000}).encode()
    a.many(4, lambda a: a.post("/api/annotation", body))


def smuggled(a):
    forms = (b"POST /api/put HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\n[]\n", b"POST /api/put HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
             b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n folded: 1\r\n\r\n",
             b"POST /api/put HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[]\nX0\r\n\r\n")
    a.many(2, lambda a: [a.raw(f + os.urandom(20), shut=True) for f in forms])


# name -> (function, counters that must grow or None)
TABLE = {f.__name__: (f, counts) for f, counts in (
    (histogram_without_tags, ("tsd.rpc.errors{type=illegal_arguments}",)),
    (zeros, None),
    (nested_arrays, None),
    (gzip_bombs, None),
    (filters, None),
    (regular_expressions, None),
    (half_bodies, ("tsd.memory.refused{account=bodies}", "tsd.memory.refused_per_address{account=bodies}", "tsd.http.incomplete{type=dropped}", "tsd.memory.refused{account=process}")),
    (dense_downsampling, None),
    (big_answers_unread, ("tsd.spool.replies",)),
    (pipelined_unread, ("tsd.memory.refused_per_address{account=replies}", "tsd.memory.refused{account=replies}")),
    (slow_readers, None),
    (pictures, ("tsd.http.graph.refused{reason=graph_max_running}", "tsd.jobs.refused_queue_full{class=picture}", "tsd.http.graph.refused{reason=graph_timeout_s}", "tsd.rpc.exceptions")),
    (syncs, None),
    (stats_lines, None),
    (long_names, ("tsd.rpc.errors{type=illegal_arguments}",)),
    (new_series, ("tsd.rpc.errors{type=new_series_per_min}", "tsd.rpc.errors{type=max_series}", "tsd.ingest.pauses{reason=new_series}")),
    (half_lines, None),
    (valid_points, None),
    (bad_lines, ("tsd.rpc.errors{type=illegal_arguments}",)),
    (random_old_times, None),
    (idle_connections, None),
    (half_requests, ("tsd.http.incomplete{type=dropped}",)),
    (churn, None),
    (foreign_pages, ("tsd.http.refused{type=site}",)),
    (annotations, None),
    (smuggled, None),
)}
