#!/usr/bin/env python3
"""Clients that do not read, or read slowly, on a real daemon: calm clients are answered, replies are kept in files and come whole, limits hold."""
import http.client
import json
import socket
import struct
import time

from metakit import ask, end, holds as check
from tsdtest import Daemon, until

T0 = 1500000000
N_SERIES, N_POINTS = 100, 3000
BIG = "/api/query?start=%d&end=%d&m=none:big.m" % (T0, T0 + N_POINTS)      # about 6 MB of text


def fill(d):
    for s in range(0, N_SERIES, 20):
        d.send("".join("put big.m %d %d.25 s=s%03d\n" % (T0 + i, i, k) for k in range(s, s + 20) for i in range(N_POINTS)))
    check("points sent", d.sync() == N_SERIES * N_POINTS)
    d.flush("files")


def stats(d):
    """{"name tag": value}"""
    rows = [line.split() for line in d.http("/stats").decode().splitlines()]
    return {" ".join([r[0][4:], r[3]] if not r[3].startswith("host=") else [r[0][4:]]): int(r[2]) for r in rows}


def reader(d, path=BIG, host=b"127.0.0.1"):
    """A client that asks and reads nothing yet."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(300)
    s.connect(("127.0.0.1", d.port))
    s.sendall(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path.encode(), host))
    return s


def rest(s):
    r = http.client.HTTPResponse(s)
    r.begin()
    return r.status, r.read()


def calm(d, what, query=True):
    """Everything small is answered."""
    check(what + ": suggest", ask(d, "GET", "/api/suggest?type=metrics&q=big")[1] == ["big.m"])
    status, rows = ask(d, "GET", "/api/query?start=%d&end=%d&m=sum:big.m%%7Bs=s007%%7D" % (T0, T0 + 60)) if query else (0, 0)
    check(what + ": query", not query or status == 200 and len(rows[0]["dps"]) == 61, rows)
    check(what + ": last", ask(d, "GET", "/api/query/last?timeseries=big.m%7Bs=s007%7D")[0] == 200)
    check(what + ": annotation", ask(d, "POST", "/api/annotation", {"startTime": T0, "description": what})[0] == 200)


def with_keys(d, **keys):
    d.keys = dict({"query_max_running": 4, "query_reply_buffer_bytes": "256k"}, **keys)
    d.restart()


def spooled(d):
    """24 clients that read nothing, on 4 threads."""
    with_keys(d)
    whole = rest(reader(d))
    check("the answer", whole[0] == 200 and sum(len(r["dps"]) for r in json.loads(whole[1])) == N_SERIES * N_POINTS)
    slow = [reader(d) for _ in range(24)]
    until("all queries end though nobody reads", lambda: len(ask(d, "GET", "/api/stats/query")[1]["completed"]) >= 25)
    calm(d, "beside 24 that read nothing")
    now = stats(d)
    check("replies are kept in files", now["spool.used_bytes"] > 24 << 20 and now["jobs.running class=query"] == 0, now)
    check("and not in memory", now["memory.used_bytes account=streams"] < 24 << 20 and now["memory.used_bytes account=queries"] == 0, now)
    check("kept replies come whole", all(rest(s) == whole for s in slow[:3]))
    for s in slow:
        s.close()
    until("closed clients free everything", lambda: stats(d)["spool.used_bytes"] == 0)
    until("memory of replies too", lambda: stats(d)["memory.used_bytes account=streams"] == 0)


def streams(d):
    """More clients that do not read than long replies may begin: further ones are refused by name, small ones are answered."""
    with_keys(d, stream_total_bytes="2M")
    slow = [reader(d) for _ in range(40)]
    until("each is answered or refused", lambda: len(ask(d, "GET", "/api/stats/query")[1]["completed"]) >= 40)
    now = stats(d)
    check("the share of the address holds", 512 << 10 < now["memory.used_bytes account=streams"] <= 1 << 20, now)
    check("refusals are counted", now["memory.refused_per_address account=streams"] > 0, now)
    for i in range(5):
        calm(d, "beside 40 that read nothing, %d" % i)
    status, answer = ask(d, "GET", BIG)
    check("a long reply more is refused by name", status == 503 and "stream_total_bytes" in answer["error"]["message"], (status, answer))
    for s in slow:
        s.close()
    until("closed clients free it", lambda: stats(d)["memory.used_bytes account=streams"] == 0)
    check("then a long reply comes", ask(d, "GET", BIG)[0] == 200)


def waiting(d):
    """A query that waits for a thread is answered when its time is over, not when its turn comes."""
    with_keys(d, query_max_running=1, query_spool_bytes=0, query_timeout_ms=5000)
    held = reader(d)
    until("its run waits for the client", lambda: stats(d)["memory.used_bytes account=streams"] > 0 and stats(d)["jobs.running class=query"] == 1)
    status, answer = ask(d, "GET", BIG)
    check("408 while the other still runs", status == 408 and "query_timeout_ms" in answer["error"]["message"] and
          stats(d)["jobs.running class=query"] == 1, (status, answer))
    check("it left the queue", stats(d)["jobs.waiting class=query"] == 0)
    with_keys(d, query_max_running=1, query_spool_bytes=0, query_timeout_ms=600000)
    held = reader(d)
    until("its run waits for the client", lambda: stats(d)["memory.used_bytes account=streams"] > 0 and stats(d)["jobs.running class=query"] == 1)
    gone = [reader(d) for _ in range(5)]
    until("five wait", lambda: stats(d)["jobs.waiting class=query"] == 5)
    for s in gone:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    until("clients that are gone do not wait", lambda: stats(d)["jobs.waiting class=query"] == 0)
    check("the other still runs", stats(d)["jobs.running class=query"] == 1)
    held.close()


def packed(d):
    """The same compressed, and read at some speed."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(300)
    s.connect(("127.0.0.1", d.port))
    s.sendall(b"GET %s&arrays HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n" % BIG.encode())
    time.sleep(0.2)
    status, body = rest(s)
    check("a compressed reply comes whole", status == 200 and len(body) > 100000 and body[:2] == b"\x1f\x8b", (status, len(body)))


def full(d):
    """Without a spool: one run may wait, the replies of others are cut, threads stay free."""
    with_keys(d, query_spool_bytes=0)
    slow = [reader(d) for _ in range(8)]
    until("all but one are cut", lambda: stats(d)["spool.replies_cut"] == 7)
    now = stats(d)
    check("one waits for its client", now["jobs.running class=query"] == 1, now)
    calm(d, "without a spool")
    ended = ask(d, "GET", "/api/stats/query")[1]["completed"]
    check("the key is named", sum("query_spool_bytes" in q["exception"] for q in ended) == 7, ended[:1])
    whole = []
    for s in slow:
        try:
            whole.append(rest(s)[0])
        except (http.client.HTTPException, OSError):
            whole.append(0)
    check("no client takes half an answer for a whole one", sorted(whole) == [0] * 7 + [200], whole)


def shares(d):
    with_keys(d, query_max_running=1, query_max_per_address=1, query_spool_bytes=0)
    held = [reader(d) for _ in range(4)]          # this machine has four times its share
    until("one runs, three wait", lambda: stats(d)["jobs.waiting class=query"] == 3)
    status, answer = ask(d, "GET", BIG)
    check("a fifth is refused", status == 429 and "query_max_per_address" in answer["error"]["message"], (status, answer))
    calm(d, "beside a full queue", query=False)  # on a slow machine the worker gives a query to a job, which has no share left
    for s in held:
        s.close()
    until("closed clients leave the queue", lambda: stats(d)["jobs.waiting class=query"] == 0 == stats(d)["jobs.running class=query"])
    check("then there is space again", ask(d, "GET", BIG)[0] == 200)
    with_keys(d, query_max_running=1, query_max_waiting=1, query_spool_bytes=0)
    held = [reader(d) for _ in range(2)]
    until("one runs, one waits", lambda: stats(d)["jobs.waiting class=query"] == 1)
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request("GET", BIG)
    r = c.getresponse()
    text = r.read()
    check("the queue has a limit", r.status == 503 and r.getheader("Retry-After") and b"query_max_waiting" in text, (r.status, text))
    c.close()
    for s in held:
        s.close()


def too_slow(d):
    """A client that takes a little all the time."""
    with_keys(d, write_stall_timeout_s=1, write_min_bytes_per_s="1M")
    s = reader(d)
    until("its query ends", lambda: len(ask(d, "GET", "/api/stats/query")[1]["completed"]) == 1)
    dropped = False
    limit = time.monotonic() + 60
    while not dropped and time.monotonic() < limit:
        try:
            dropped = not s.recv(100)
        except ConnectionResetError:
            dropped = True
        dropped = dropped or stats(d)["connectionmgr.exceptions type=timeout"] == 1
        time.sleep(0.05)
    check("it is dropped", dropped and stats(d)["connectionmgr.exceptions type=timeout"] == 1)
    until("its reply is freed", lambda: stats(d)["spool.used_bytes"] == 0)
    s.close()


def stops(d):
    """SIGTERM ends runs that wait, that are queued and replies on their way; the daemon's end is checked by stop()."""
    with_keys(d, query_max_running=1, query_spool_bytes=0, stop_timeout_s=1)
    held = [reader(d) for _ in range(3)]
    until("one runs, two wait", lambda: stats(d)["jobs.waiting class=query"] == 2)
    d.restart()
    for s in held:
        s.close()
    with_keys(d, stop_timeout_s=1)
    held = [reader(d) for _ in range(3)]
    until("their queries end", lambda: len(ask(d, "GET", "/api/stats/query")[1]["completed"]) == 3)
    d.restart()
    for s in held:
        s.close()


def main():
    with Daemon(workers=2) as d:
        fill(d)
        spooled(d)
        streams(d)
        waiting(d)
        packed(d)
        full(d)
        shares(d)
        too_slow(d)
        stops(d)
    end("slow_clients")


if __name__ == "__main__":
    main()
