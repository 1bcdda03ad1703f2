#!/usr/bin/env python3
"""Increments with ids: connections add to counters by lines and by HTTP while the daemon is killed and started again with another number of workers; each
client repeats what was not confirmed. All sums are exact in the end, in memory, in files and after a restart. What is refused is said.

With TSD_HBASE_GATEWAY=HOST:PORT the daemon has HBase behind it, and loses what it has shipped with every other kill, so that increments add to what
only HBase has. In the end another daemon reads the same sums there.

usage: counters_once.py [COUNTERS INCREMENTS KILLS]   16 connections; small by default, 10000 2000000 20 for a long run"""
import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from metakit import ask, end, holds
from thrift2 import Gateway
from tsdtest import Daemon, binary, until

T0 = 1500000000
CLIENTS = 16
COUNTERS, INCREMENTS, KILLS = (int(a) for a in (sys.argv[1:] + ["400", "48000", "3"][len(sys.argv) - 1:])[:3])
EACH = INCREMENTS // CLIENTS
MORE = range(0, COUNTERS, 7)                 # counters that get one more in the end, over HBase
CHUNK = max(50, min(5000, EACH // 12))       # lines between two syncs


def new_id():
    return "%d-%s" % (time.time(), os.urandom(8).hex())


def page_of(client, seq):
    return (seq * (2 * client + 1) + client) % COUNTERS


def sums(d, metric="hits"):
    status, rows = ask(d, "GET", "/api/query?start=%d&end=%d&m=sum:0all-sum:%s%%7Bpage=*%%7D" % (T0 - 86400, T0 + 86400, metric))
    return {r["tags"]["page"]: sum(r["dps"].values()) for r in rows} if status == 200 else {}


def connect(d):
    while True:
        try:
            s = d.connect()
            s.settimeout(120)
            return s
        except OSError:
            time.sleep(0.05)


def lines(d, client, done):
    """Send everything, sync now and then; whatever goes wrong, go back to the last sequence that an ok has covered."""
    name, ok = new_id(), 0
    while ok < EACH:
        try:
            with connect(d) as s, s.makefile("rb") as answers:
                while ok < EACH:
                    to = min(ok + CHUNK, EACH)
                    s.sendall("".join("incr! %s %d hits %d 1 page=p%d\n" % (name, i, T0 + i % 600, page_of(client, i))
                                      for i in range(ok + 1, to + 1)).encode() + b"sync\n")
                    for said in answers:
                        if said.startswith((b"ok ", b"sync: ")):
                            break
                    else:
                        break
                    if said.startswith(b"ok "):
                        ok = to
                    done[client] = ok
        except OSError:
            pass


def by_http(d, client, done):
    """The same with a body for each sequence; its increments belong to many shards."""
    name, ok, size = new_id(), 0, 50
    while ok * size < EACH:
        body = {"id": name, "seq": ok + 1,
                "points": [{"metric": "hits", "timestamp": T0 + i % 600, "value": 1, "tags": {"page": "p%d" % page_of(client, i)}}
                           for i in range(ok * size + 1, min((ok + 1) * size, EACH) + 1)]}
        try:
            ok += ask(d, "POST", "/api/incr", body)[0] == 204
            done[client] = ok * size
        except (OSError, ValueError):
            time.sleep(0.02)


def kills(d, done):
    threads = [threading.Thread(target=by_http if i % 4 == 3 else lines, args=(d, i, done)) for i in range(CLIENTS)]
    for t in threads:
        t.start()
    for k in range(KILLS):
        while sum(done) < INCREMENTS * (k + 1) // (KILLS + 1) and any(t.is_alive() for t in threads):
            time.sleep(0.005)
        d.kill()
        if "remote" in d.keys and k % 2 == 0:
            subprocess.run([os.path.join(os.path.dirname(binary()), "tests", "drop_shipped"), d.data], check=True, stdout=subprocess.DEVNULL)
        d.start(workers=1 + k % 3)
        if k % 2:
            d.flush("files")
    for t in threads:
        t.join()


def expected():
    want = {}
    for client in range(CLIENTS):
        for i in range(1, EACH + 1):
            page = "p%d" % page_of(client, i)
            want[page] = want.get(page, 0) + 1
    return want


def exact(d, when, more=()):
    got, want = sums(d), expected()
    for i in more:
        want["p%d" % i] += 1
    holds("sums are exact " + when, got == want, {p: (got.get(p), want.get(p)) for p in set(got) | set(want) if got.get(p) != want.get(p)})


def refused(d):
    name, other = new_id(), new_id()
    said = d.talk(("incr! %s 1 m %d 1 page=a\nincr! %s 1 m %d 1 page=a\nincr! %s 2 m %d x page=a\nincr! %s 3 m %d 5 page=a\n"
                   "incr! %s 0 m %d 1 page=a\nincr! nonsense 1 m %d 1 page=a\nincr! %s 1 m %d 1 page=a\nsync\n")
                  .replace("%d", str(T0)) % (name, name, name, name, name, other)).decode().splitlines()
    holds("bad lines are named, a repeat is not", [x.split(": ")[0] for x in said] == ["incr! 2", "incr!", "incr!", "incr! 1", "ok 3"], said)
    holds("and adds nothing", sums(d, "m") == {"a": 6})
    old = "%d-1" % (time.time() - 400 * 3600)
    said = d.talk(("incr! %s 1 m %d 1 page=a\nsync\n" % (old, T0)).encode()).decode()
    holds("a forgotten id is refused", said.startswith("sync: error sequence 1 was refused: the id is forgotten") and sums(d, "m") == {"a": 6}, said)
    point = {"metric": "m", "timestamp": T0, "value": 1, "tags": {"page": "a"}}
    bodies = [({"id": name, "seq": 4, **point}, 204), ({"id": name, "seq": 4, **point}, 204), ({"seq": 5, **point}, 400), ([{"id": name, "seq": 5, **point}], 400),
              ({"id": name, "seq": "x", "points": [point]}, 400), ({"id": old, "seq": 1, "points": [point]}, 409),
              ({"points": [point], "seq": 5, "id": name}, 204), ({"id": name, "seq": 6, "points": [point, {**point, "value": "x"}]}, 400),
              ({"id": name, "seq": 6, "points": [point] * 4096}, 204), ({"id": name, "seq": 7, "points": [point] * 4097}, 400)]
    got = [ask(d, "POST", "/api/incr", body)[0] for body, _ in bodies]
    holds("bodies with ids are taken whole or not at all", got == [status for _, status in bodies] and sums(d, "m") == {"a": 6 + 2 + 4096}, (got, sums(d, "m")))
    raw = '{%s"id":"' + new_id() + '","seq":8,%s"points":[' + json.dumps(point) + "]}"
    for what, text, status in (("a quote in a text that is not looked at", raw % ('"note":"a\\"b",', ""), 204), ("two sequences", raw % ("", '"seq":9,'), 400)):
        c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
        c.request("POST", "/api/incr", text, {"Content-Type": "application/json"})
        seen = c.getresponse().status
        holds(what, seen == status, seen)
        c.close()


def cut(d):
    """A client is killed while it sends a line: what has arrived of it must not count, since the whole line is repeated."""
    name, line = new_id(), "incr! %s 1 cut %d 1 page=abcdefgh\n"
    line %= (name, T0)
    for n in range(len(line)):
        d.talk(line[:n].encode())
    holds("a line that was cut off adds nothing", sums(d, "cut") == {}, sums(d, "cut"))
    holds("its repeat is added", d.talk(line.encode() + b"sync\n") == b"ok 1\n" and sums(d, "cut") == {"abcdefgh": 1}, sums(d, "cut"))


def stat(d, metric):
    return sum(float(r["value"]) for r in d.api("/api/stats") if r["metric"] == metric)


def all_shipped(d):
    for _ in range(2):  # increments, then their sums
        d.flush("files")
        passes = stat(d, "tsd.storage.ship.passes")
        until("two passes", lambda: stat(d, "tsd.storage.ship.passes") >= passes + 2)
    until("nothing is left", lambda: stat(d, "tsd.hbase.backlog_points") == 0)
    holds("no hour is held", stat(d, "tsd.storage.ship.held_hours") == 0)


def in_hbase(d, keys):
    """Everything was shipped, increments to shipped points too, and a daemon with an empty folder finds it."""
    all_shipped(d)
    d.talk("".join("incr hits %d 1 page=p%d\n" % (T0, i) for i in MORE) + "sync\n")
    until("sums are put", lambda: stat(d, "tsd.storage.ship.absolute_points") >= len(MORE))
    exact(d, "with sums in memory", MORE)
    all_shipped(d)
    with Daemon(workers=2, **keys) as other:
        exact(other, "in HBase", MORE)


def hbase_keys(g, address):
    names = g.create_opentsdb("tsd_once_%d_" % os.getpid())
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), names)}
    return dict(keys, remote="hbase", hbase_gateways=address, hbase_ship=1), names


def main():
    random.seed(1)
    address = os.environ.pop("TSD_HBASE_GATEWAY", None)
    if not address:
        life({})
    else:
        g = Gateway(address.rsplit(":", 1)[0], int(address.rsplit(":", 1)[1]))
        keys, names = hbase_keys(g, address)
        life(keys)
        g.drop_all(names)
    end("counters_once")


def life(keys):
    with Daemon(memstore_bytes="1m", wal_sync_interval_ms="20", **keys) as d:
        done = [0] * CLIENTS
        kills(d, done)
        exact(d, "after kills and repeats")
        d.flush("compact")
        exact(d, "in files")
        d.restart(workers=3)
        exact(d, "after a restart")
        if keys:
            in_hbase(d, keys)
        refused(d)
        cut(d)


main()
