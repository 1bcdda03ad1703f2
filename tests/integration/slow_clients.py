#!/usr/bin/env python3
"""Clients that do not read, or read slowly, on a real daemon: calm clients are answered, replies are kept in files and come whole, limits hold.

Nothing depends on the speed of the machine: limits of time are off (FOREVER) where they are not the thing that is tested, and a figure that
follows an event (a thread that ends, memory that is given back) is waited for. A daemon that never gets there ends the test."""
import http.client
import json
import socket
import struct
import time

from metakit import ask, end, holds as check
from tsdtest import Daemon, until as until_in

T0 = 1500000000
N_SERIES, N_POINTS = 100, 3000
LONG_S = 800            # longer than the test may take altogether
FOREVER = {"query_timeout_ms": 0, "write_stall_timeout_s": 3600}
BIG = "/api/query?start=%d&end=%d&m=none:big.m" % (T0, T0 + N_POINTS)      # about 6 MB of text


def until(what, test):
    return until_in(what, test, LONG_S)


def fill(d):
    for s in range(0, N_SERIES, 20):
        d.send("".join("put big.m %d %d.25 s=s%03d\n" % (T0 + i, i, k) for k in range(s, s + 20) for i in range(N_POINTS)))
    check("points sent", d.sync() == N_SERIES * N_POINTS)
    d.flush("files")


def stats(d):
    """{"name tag": value}"""
    rows = [line.split() for line in d.http("/stats").decode().splitlines()]
    return {" ".join([r[0][4:], r[3]] if not r[3].startswith("host=") else [r[0][4:]]): int(r[2]) for r in rows}


def running(d):
    return stats(d)["jobs.running class=query"]


def ended(d):
    """Queries that have ended since the start."""
    return ask(d, "GET", "/api/stats/query")[1]["completed"]


def reader(d, path=BIG, headers=b""):
    """A client that asks and reads nothing yet."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(LONG_S)
    s.connect(("127.0.0.1", d.port))
    s.sendall(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n" % (path.encode(), headers))
    return s


def rest(s):
    r = http.client.HTTPResponse(s)
    r.begin()
    return r.status, r.read()


def whole_of(s):
    """The status of a reply that comes whole; 0: it ends early."""
    try:
        return rest(s)[0]
    except (http.client.HTTPException, OSError):
        return 0


def calm(d, what, refusal=None):
    """Everything small is answered. A small query is a job if its worker is not fast enough, and may be refused like others then, by the key refusal."""
    check(what + ": suggest", ask(d, "GET", "/api/suggest?type=metrics&q=big")[1] == ["big.m"])
    status, rows = ask(d, "GET", "/api/query?start=%d&end=%d&m=sum:big.m%%7Bs=s007%%7D" % (T0, T0 + 60))
    check(what + ": query", len(rows[0]["dps"]) == 61 if status == 200 else refusal and refusal in rows["error"]["message"], (status, rows))
    check(what + ": last", ask(d, "GET", "/api/query/last?timeseries=big.m%7Bs=s007%7D")[0] == 200)
    check(what + ": annotation", ask(d, "POST", "/api/annotation", {"startTime": T0, "description": what})[0] == 200)


def with_keys(d, **keys):
    d.keys = dict({"query_max_running": 4, "query_reply_buffer_bytes": "256k"}, **dict(FOREVER, **keys))
    d.restart()


def spooled(d):
    """24 clients that read nothing, on 4 threads."""
    with_keys(d)
    whole = rest(reader(d))
    check("the answer", whole[0] == 200 and sum(len(r["dps"]) for r in json.loads(whole[1])) == N_SERIES * N_POINTS)
    slow = [reader(d) for _ in range(24)]
    until("all queries end though nobody reads", lambda: len(ended(d)) >= 25)
    calm(d, "beside 24 that read nothing")
    until("no thread waits for them", lambda: running(d) == 0)
    until("their memory is free", lambda: stats(d)["memory.used_bytes account=queries"] == 0)
    now = stats(d)
    check("replies are kept in files, not by the kernel", now["spool.used_bytes"] > 24 * (len(whole[1]) - (3 << 19)), (len(whole[1]), now))
    check("and not in memory", now["memory.used_bytes account=streams"] < 24 << 20, now)
    check("kept replies come whole", all(rest(s) == whole for s in slow[:3]))
    for s in slow:
        s.close()
    until("closed clients free everything", lambda: stats(d)["spool.used_bytes"] == 0)
    until("memory of replies too", lambda: stats(d)["memory.used_bytes account=streams"] == 0)


def streams(d):
    """More clients that do not read than long replies may begin: further ones are refused by name, small ones are answered."""
    with_keys(d, stream_total_bytes="2M")
    slow = [reader(d) for _ in range(40)]
    until("each is answered or refused", lambda: len(ended(d)) >= 40)
    until("all threads are free", lambda: running(d) == 0)
    now = stats(d)
    check("the share of the address holds", 512 << 10 < now["memory.used_bytes account=streams"] <= 1 << 20, now)
    check("refusals are counted", now["memory.refused_per_address account=streams"] > 0, now)
    for i in range(5):
        calm(d, "beside 40 that read nothing, %d" % i, "stream_total_bytes")
    status, answer = ask(d, "GET", BIG)
    check("a long reply more is refused by name", status == 503 and "stream_total_bytes" in answer["error"]["message"], (status, answer))
    for s in slow:
        s.close()
    until("closed clients free it", lambda: stats(d)["memory.used_bytes account=streams"] == 0)
    check("then a long reply comes", ask(d, "GET", BIG)[0] == 200)


def holds_a_thread(d, path=BIG, **keys):
    """The client of a run, which is the only one by default, reads nothing."""
    with_keys(d, **dict({"query_max_running": 1, "query_spool_bytes": 0}, **keys))
    s = reader(d, path)
    until("its run waits for the client, or is over", lambda: ended(d) or stats(d)["memory.used_bytes account=streams"] > 0)
    return s


def waiting(d):
    """A query that waits for a thread is answered when its time is over, not when its turn comes."""
    for seconds in (5, 20, 80):         # a slow machine may need longer for the first reply alone
        held = holds_a_thread(d, query_timeout_ms=1000 * seconds)
        status, answer = ask(d, "GET", BIG)
        seen = status, "query_timeout_ms" in str(answer), running(d), whole_of(held)
        if seen == (408, True, 1, 200):
            break
    check("408 while the other still runs, whose reply then comes whole: its client's time is not its own", seen == (408, True, 1, 200), (seconds, seen))
    until("it left the queue", lambda: stats(d)["jobs.waiting class=query"] == 0)
    held = holds_a_thread(d)
    gone = [reader(d) for _ in range(5)]
    until("five wait", lambda: stats(d)["jobs.waiting class=query"] == 5)
    for s in gone:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    until("clients that are gone do not wait", lambda: stats(d)["jobs.waiting class=query"] == 0)
    check("the other still runs", running(d) == 1)
    held.close()


def packed(d):
    """The same compressed."""
    s = reader(d, BIG + "&arrays", b"Accept-Encoding: gzip\r\nConnection: close\r\n")
    status, body = rest(s)
    check("a compressed reply comes whole", status == 200 and len(body) > 100000 and body[:2] == b"\x1f\x8b", (status, len(body)))


def full(d):
    """Without a spool: one run may wait, the replies of others are cut, threads stay free."""
    with_keys(d, query_spool_bytes=0)
    slow = [reader(d) for _ in range(8)]
    until("all but one are cut", lambda: stats(d)["spool.replies_cut"] == 7)
    until("one waits for its client", lambda: running(d) == 1)
    until("the others name the key", lambda: sum("query_spool_bytes" in q["exception"] for q in ended(d)) == 7)
    calm(d, "without a spool")
    whole = [whole_of(s) for s in slow]
    check("no client takes half an answer for a whole one", sorted(whole) == [0] * 7 + [200], whole)


def shares(d):
    with_keys(d, query_max_running=1, query_max_per_address=1, query_spool_bytes=0)
    held = [reader(d) for _ in range(4)]          # this machine has four times its share
    until("one runs, three wait", lambda: stats(d)["jobs.waiting class=query"] == 3)
    status, answer = ask(d, "GET", BIG)
    check("a fifth is refused", status == 429 and "query_max_per_address" in answer["error"]["message"], (status, answer))
    calm(d, "beside a full queue", "query_max_per_address")
    for s in held:
        s.close()
    until("closed clients leave the queue", lambda: stats(d)["jobs.waiting class=query"] == 0 == running(d))
    check("then there is space again", ask(d, "GET", BIG)[0] == 200)
    with_keys(d, query_max_running=1, query_max_waiting=1, query_spool_bytes=0)
    held = [reader(d) for _ in range(2)]
    until("one runs, one waits", lambda: stats(d)["jobs.waiting class=query"] == 1)
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=LONG_S)
    c.request("GET", BIG)
    r = c.getresponse()
    text = r.read()
    check("the queue has a limit", r.status == 503 and r.getheader("Retry-After") and b"query_max_waiting" in text, (r.status, text))
    c.close()
    for s in held:
        s.close()


def reads_little(d, s):
    """Read a little all the time until the daemon drops the client."""
    s.settimeout(0.05)                  # between two looks at the figures: it may have been dropped while nothing was left to read

    def dropped():
        try:
            return not s.recv(100)
        except socket.timeout:
            return False
        except ConnectionError:
            return True
        finally:
            time.sleep(0.05)
    until("it is dropped", lambda: dropped() or stats(d)["connectionmgr.exceptions type=timeout"] > 0)


def too_slow(d):
    """A client that takes a little all the time."""
    with_keys(d, write_stall_timeout_s=1, write_min_bytes_per_s="1M")
    s = reader(d)
    until("its query ends", lambda: ended(d))
    reads_little(d, s)
    check("for its slowness", stats(d)["connectionmgr.exceptions type=timeout"] == 1)
    until("its reply is freed", lambda: stats(d)["spool.used_bytes"] == 0)
    s.close()


def merge(d):
    """Replace all files by a merge of them and one more."""
    d.send("put other.m %d 1 s=x\n" % T0)
    check("a point more", d.sync() == 1)
    d.flush("files")
    d.flush("compact")


def holds_files(d):
    """Files that a merge replaces while a client reads slowly: a query has read its points before it waits for the client; an export holds files, which
    are counted, and free when the client has its reply or is dropped."""
    s = holds_a_thread(d, query_max_running=2)
    merge(d)
    until("a query that waits for its client holds no files", lambda: stats(d)["storage.files.held"] == 0 and running(d) == 1)
    check("its reply comes whole", whole_of(s) == 200)
    export = "/api/export?metric=big.m"
    s = holds_a_thread(d, export, query_max_running=2, write_min_bytes_per_s="1k")
    merge(d)
    until("replaced files are held", lambda: stats(d)["storage.files.held"] > 0 and stats(d)["storage.files.held_bytes"] > 0 and running(d) == 1)
    check("for a client that reads fast enough", whole_of(s) == 200)
    until("then they are free", lambda: stats(d)["storage.files.held"] == 0 == stats(d)["storage.files.held_bytes"])
    for seconds in (5, 20, 80):         # a slow machine may need longer for the merge
        s = holds_a_thread(d, export, query_max_running=2, write_stall_timeout_s=seconds, write_min_bytes_per_s="1M")
        merge(d)
        held = stats(d)["storage.files.held"]
        reads_little(d, s)
        until("they are free when it is dropped", lambda: stats(d)["storage.files.held"] == 0 == running(d))
        s.close()
        if held:
            break
    check("a client that is too slow has held files", held, seconds)
    with_keys(d)
    s = reader(d, export)
    until("a reply that fits the spool waits for nobody", lambda: stats(d)["spool.used_bytes"] > 0 == running(d))
    merge(d)
    until("nothing is held for it", lambda: stats(d)["storage.files.held"] == 0)
    check("it comes whole", whole_of(s) == 200)


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
    until("their queries end", lambda: len(ended(d)) == 3)
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
        holds_files(d)
        stops(d)
    end("slow_clients")


if __name__ == "__main__":
    main()
