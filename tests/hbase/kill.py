#!/usr/bin/env python3
"""A load into a daemon with HBase behind it, during which the daemon is killed (kill -9) again and again and the way to HBase fails: it hangs,
breaks off, loses answers, answers late or with exceptions. Afterwards HBase must have what was acknowledged, and nothing else.

    kill.py --fake [--rounds N] [--points N] [--seed N]      over the HBase in memory (fake_hbase_server beside $TSD)
    kill.py --own [--kill-gateway] [--kill-server] ...       over a real HBase, started by hbase.sh and stopped at the end
    TSD_HBASE_GATEWAY=HOST:PORT kill.py ...                  over any; tables are made with a prefix of their own

--kill-gateway kills the Thrift2 gateway too, with -9, and starts it again. --kill-server does so with HBase itself: on a local file system
it loses puts that it has acknowledged, which `tsd hbase reship` sends again.

Checked when the load is over and everything was shipped: a daemon with an empty folder answers, for each series, the last acknowledged
value of each time or one sent later, and no other time; the daemon of the load answers the same; no row of the table has two values of
one time. Exit 0: all held.
"""
import argparse
import itertools
import json
import os
import random
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from relay import Relay  # noqa: E402
from thrift2 import Failed, Gateway  # noqa: E402
from tsdtest import Daemon, binary, free_port, until  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SERIES = 8        # series of a stream; every fourth has times in milliseconds
BLOCK = 2000      # points of a write, at most
WINDOW = 20000    # times of a series that one query asks for
HOUR = 3600000


def value(number, series, k, version):
    """A number of any size that OpenTSDB's tables know."""
    h = (k * 7919 + series * 31337 + number * 17 + version * 104729) & 0xffffffff
    kind = h >> 3 & 7
    return (h % 100 - 50, h % 100, h % 30000, -h, h << 20, h % 1000 + 0.5, h % 100000 / 1000, 7)[kind]


class Stream(threading.Thread):
    """Writes series of its own in order of time, and now and then older times again with other values. first[s][k] is the version of time
    k that is confirmed, last[s][k] the one that was sent; 0 = none."""

    def __init__(self, number, base_ms):
        super().__init__()
        self.number, self.base_ms, self.n_sent, self.n_confirmed = number, base_ms, 0, 0
        self.first, self.last = ([bytearray() for _ in range(SERIES)] for _ in range(2))
        self.pending, self.problem = [], None

    def begin(self, daemon, seed, share):
        super().__init__(daemon=True)
        self.tsd, self.rng, self.share, self.pending = daemon, random.Random(seed), self.n_sent + share, []

    def time(self, series, k):
        return self.base_ms + (k * 1500 + k * 37 % 1000 if series % 4 == 3 else k * 10000)

    def some(self):
        """Points to send: (series, k, version)."""
        s, n = self.rng.randrange(SERIES), self.rng.randrange(1, BLOCK if self.rng.random() < 0.7 else 20)
        first, last = self.first[s], self.last[s]
        if last and self.rng.random() < 0.15:
            at = self.rng.randrange(len(last))
            ks = [k for k in range(at, min(at + n, len(last)), self.rng.choice([1, 1, 5])) if last[k] < 255]
        else:
            ks = range(len(last), len(last) + n)
            first.extend(bytes(n))
            last.extend(bytes(n))
        for k in ks:
            last[k] += 1        # before sending: any part of it may survive
        self.n_sent += len(ks)
        return [(s, k, last[k]) for k in ks]

    def confirm(self, points):
        for s, k, version in points:
            self.first[s][k] = version
        self.n_confirmed += len(points)

    def run(self):
        try:
            self.work()
        except (OSError, urllib.error.URLError):
            pass
        except Exception as e:       # http.client has its own names for a connection that ends
            if type(e).__module__ != "http.client":
                self.problem = repr(e)


class Lines(Stream):
    """Line protocol over one connection; `sync` now and then."""

    def work(self):
        n, m = self.number, self.metric()
        with self.tsd.connect() as s:
            while self.n_sent < self.share:
                points = self.some()
                self.pending += points
                s.sendall("".join(["put %s %d %r conn=%d s=%d\n" % (m, self.time(i, k), value(n, i, k, v), n, i) for i, k, v in points]).encode())
                if self.rng.random() < 0.4 or self.n_sent >= self.share:
                    self.sync(s)

    def metric(self):
        return "kill.lines"

    def sync(self, s):
        s.sendall(b"sync\n")
        answer = b""
        while not answer.endswith(b"\n"):
            got = s.recv(1000)
            if not got:
                return
            answer += got
        if not answer.startswith(b"ok "):
            raise ValueError("answer to sync: %r" % answer)
        self.confirm(self.pending)
        self.pending = []


class Http(Stream):
    """Posts; a 204 confirms."""

    def metric(self):
        return "kill.http"

    def work(self):
        while self.n_sent < self.share:
            points = self.some()
            body = [{"metric": self.metric(), "timestamp": self.time(s, k), "value": value(self.number, s, k, v), "tags": {"conn": str(self.number), "s": str(s)}}
                    for s, k, v in points]
            for a in range(0, len(body), 400):
                self.tsd.api_put(body[a:a + 400])
                self.confirm(points[a:a + 400])


class Loaded(Daemon):
    def api_put(self, body):
        req = urllib.request.Request("http://127.0.0.1:%d/api/put" % self.port, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(req, timeout=60) as f:
            if f.status != 204:
                raise ValueError("answer to /api/put: %d" % f.status)


class Faults(threading.Thread):
    """Lets the way to HBase fail in turn with working."""

    def __init__(self, relay, seed, processes):
        super().__init__(daemon=True)
        self.relay, self.rng, self.processes, self.over = relay, random.Random(seed), processes, threading.Event()

    def run(self):
        while not self.over.wait(self.rng.random() ** 2):
            if self.processes and self.rng.random() < 0.15:
                name = self.rng.choice(self.processes)
                hbase_sh("kill", name)
                self.over.wait(self.rng.random() * 3)
                hbase_sh("again", name)
            else:
                self.relay.set(self.rng.choice(self.relay.FAULTS))
                self.over.wait(self.rng.random() ** 2 * 3)
                self.relay.set("pass")

    def end(self):
        self.over.set()
        self.join()
        self.relay.set("pass")


def hbase_sh(*args):
    subprocess.run([HERE + "/hbase.sh", *args], check=True, stdout=subprocess.DEVNULL)


def stats(d):
    out = {}
    for r in d.api("/api/stats"):
        out[r["metric"]] = out.get(r["metric"], 0) + float(r["value"])
    return out


def caught_up(d):
    """Wait until passes that began after everything was in files had nothing to send."""
    d.flush("files")
    quiet, began = 0, stats(d)

    def nothing_left():
        nonlocal quiet, began
        now = stats(d)
        passes, points, errors = (now["tsd.storage.ship." + k] - began["tsd.storage.ship." + k] for k in ("passes", "points", "errors"))
        if not passes:
            return False
        quiet, began = (0 if points or errors else quiet + 1), now
        return quiet >= 3

    until("everything in HBase", nothing_left, 1800)
    if now := stats(d)["tsd.storage.ship.refused_rows"]:
        sys.exit("%d rows were refused" % now)


def answer(d, st, series, a, b):
    """{time: value} of the times a to b of a series."""
    m = "none:%s{conn=%d,s=%d}" % (st.metric(), st.number, series)
    url = "/api/query?arrays=true&ms=true&start=%d&end=%d&m=%s" % (st.time(series, a), st.time(series, b) - 1, urllib.parse.quote(m))
    try:
        rows = d.api(url)
    except urllib.error.HTTPError as e:
        text = e.read().decode()
        if "No such name" in text:
            return {}
        sys.exit("%s: %s" % (url, text))
    if len(rows) > 1:
        sys.exit("%d rows of one series: %r" % (len(rows), [r["tags"] for r in rows]))
    return {t: v for r in rows for t, v in r["dps"]}


def compare(what, d, streams):
    """What is wrong with the answers of a daemon, as texts; and the number of points."""
    bad, n = [], 0
    for st, series in itertools.product(streams, range(SERIES)):
        first, last = st.first[series], st.last[series]
        for a in range(0, len(last), WINDOW):
            b = min(a + WINDOW, len(last))
            have = answer(d, st, series, a, b if b < len(last) else b + 10**5)
            n += len(have)
            for k in range(a, b):
                got = have.pop(st.time(series, k), None)
                wanted = [value(st.number, series, k, v) for v in range(max(first[k], 1), last[k] + 1)]
                if got not in wanted and (got is not None or first[k]):
                    bad.append("%s: %s conn=%d s=%d time %d (number %d): %r, confirmed version %d of %d, of the values %r" %
                               (what, st.metric(), st.number, series, st.time(series, k), k, got, first[k], last[k], wanted))
            bad += ["%s: %s conn=%d s=%d time %d: %r was never sent" % (what, st.metric(), st.number, series, t, v) for t, v in have.items()]
    return bad, n


def same(streams, one, other):
    """Do two daemons answer the same?"""
    return ["%s conn=%d s=%d: the answers from time %d on differ" % (st.metric(), st.number, series, st.time(series, a))
            for st, series in itertools.product(streams, range(SERIES)) for a in range(0, len(st.last[series]), WINDOW)
            if answer(one, st, series, a, a + WINDOW) != answer(other, st, series, a, a + WINDOW)]


def cell_points(qualifier, data):
    """(offset in ms, is it a float, bytes) of the points of a cell of one or several."""
    single = len(qualifier) == (4 if qualifier[0] & 0xf0 == 0xf0 else 2)
    at = used = 0
    while at < len(qualifier):
        if qualifier[at] & 0xf0 == 0xf0:
            q = struct.unpack_from(">I", qualifier, at)[0]
            offset, at = (q & 0x0fffffc0) >> 6, at + 4
        else:
            q = struct.unpack_from(">H", qualifier, at)[0]
            offset, at = (q >> 4) * 1000, at + 2
        n = (q & 7) + 1
        yield offset, q & 8, data[used:used + n]
        used += n
    if len(data) - used != (0 if single else 1):
        raise ValueError("a cell with qualifier %s has %d bytes after its points" % (qualifier.hex(), len(data) - used))


def duplicates(g, table):
    """Rows with two values of one time, as texts; number of rows, cells and points."""
    bad, n_rows, n_cells, n_points = [], 0, 0, 0
    for key, cells in g.rows(table):
        seen = {}
        n_rows, n_cells = n_rows + 1, n_cells + len(cells)
        for (_, qualifier), data in cells.items():
            for offset, is_float, number in cell_points(qualifier, data):
                if seen.setdefault(offset, (is_float, number)) != (is_float, number):
                    bad.append("row %s has two values at offset %d ms: %r and %r" % (key.hex(), offset, seen[offset], (is_float, number)))
        n_points += len(seen)
    return bad, n_rows, n_cells, n_points


def load(a, rng, d, relay, streams):
    """The rounds: load, faults, a kill."""
    processes = ["thrift"] * a.kill_gateway + ["hbase"] * a.kill_server
    for i in range(1, a.rounds + 1):
        d.keys.update(wal_sync=rng.choice(["always", "interval", "none"]), hbase_ship=rng.choice(["at_once", 1, 2]))
        d.start(rng.choice([1, 2, 3]))
        for st in streams:
            st.begin(d, rng.random(), a.points // a.rounds // len(streams))
            st.start()
        faults = Faults(relay, rng.random(), processes)
        faults.start()
        if rng.random() < 0.5:      # a kill under load; otherwise one while the backlog is being shipped
            streams[0].join(rng.random() * 3)
        else:
            for st in streams:
                st.join(600)
            some, end = rng.choice([0, 1, 10000]), time.monotonic() + 20
            while stats(d)["tsd.hbase.shipped_points"] < some and time.monotonic() < end:
                time.sleep(0.1)
            time.sleep(rng.random() * 2)
        shipped = stats(d)
        d.kill()
        for st in streams:
            st.join(60)
            if st.problem or st.is_alive():
                sys.exit("%s conn=%d: %s" % (st.metric(), st.number, st.problem or "the client hangs"))
        faults.end()
        print("round %d of %d: %d points sent, %d confirmed; before this kill %d points were shipped, %d calls repeated, %d not answered in time, %d answered with an exception, %d passes failed" %
              (i, a.rounds, sum(st.n_sent for st in streams), sum(st.n_confirmed for st in streams),
               *(shipped["tsd." + k] for k in ("hbase.shipped_points", "hbase.call_repeats", "hbase.call_timeouts", "hbase.call_exceptions", "storage.ship.errors"))),
              flush=True)


def reship(d, streams):
    hours = [st.base_ms // HOUR * 3600 for st in streams]
    ends = [st.time(s, len(st.last[s])) // 1000 + 3600 for st in streams for s in range(SERIES)]
    d.run("hbase", "reship", "--from", str(min(hours)), "--to", str(max(ends)), "--port", str(d.port))


def check(a, d, keys, g, table, streams):
    d.keys["hbase_ship"] = "at_once"
    d.start(2)
    caught_up(d)
    if a.kill_server:
        reship(d, streams)
        caught_up(d)
    bad, n = compare("the daemon of the load", d, streams)
    with Daemon(workers=2, **keys) as empty:
        more, n_remote = compare("HBase", empty, streams)
        bad += more + same(streams, d, empty)
    more, n_rows, n_cells, n_points = duplicates(g, table)
    bad += more
    if not n == n_remote == n_points:
        bad.append("%d points in the daemon of the load, %d in the answers from HBase, %d in its table" % (n, n_remote, n_points))
    for text in bad[:20]:
        print("DIFFERENT: " + text)
    if bad:
        print("%d differences; data kept in %s" % (len(bad), d.data))
        sys.stdout.flush()
        d.kill()
        os._exit(1)
    d.stop()
    print("%d points in %d rows, %d cells: nothing confirmed is missing, nothing invented, no time has two values" % (n, n_rows, n_cells), flush=True)


def arguments():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=10)
    ap.add_argument("--points", type=int, default=1000000, help="sent in all rounds, at most")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--fake", action="store_true")
    ap.add_argument("--own", action="store_true")
    ap.add_argument("--kill-gateway", action="store_true", help="needs --own")
    ap.add_argument("--kill-server", action="store_true", help="needs --own")
    return ap.parse_args()


def run(a, host, port):
    rng = random.Random(a.seed)
    print("seed %d, %d rounds, %d points" % (a.seed, a.rounds, a.points), flush=True)
    g = Gateway(host, port)
    tables = g.create_opentsdb("tsd_kill_%d_%d_" % (os.getpid(), a.seed))
    g.close()
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), tables)}
    keys.update(remote="hbase", hbase_salt_width=rng.choice([0, 1]), hbase_salt_buckets=4)
    relay = Relay(host, port, a.seed, 0.05)
    now = int(time.time() * 1000) // HOUR * HOUR
    streams = [Lines(1, now - 300 * HOUR), Lines(2, now - HOUR), Http(3, now - 100 * HOUR - 7000)]
    keep = 8760 if a.kill_server else rng.choice([1, 8760])
    d = Loaded(workers=2, memstore_bytes="1M", hbase_gateways="127.0.0.1:%d" % relay.port, hbase_timeout_ms=1500, hbase_connect_timeout_ms=500,
               hbase_keep_local_h=keep, hbase_compact=rng.choice(["true", "true", "false"]), **keys)
    load(a, rng, d, relay, streams)
    g = Gateway(host, port)
    check(a, d, dict(keys, hbase_gateways="%s:%d" % (host, port)), g, tables[0], streams)
    for name in tables:
        try:
            g.drop(name)
        except Failed:
            pass  # the fake HBase lacks the call, and ends with the test


def main():
    a = arguments()
    if a.fake:
        server = os.path.join(os.path.dirname(binary()), "tests", "fake_hbase_server")
        os.execv(server, [server, sys.executable, os.path.abspath(__file__), *[x for x in sys.argv[1:] if x != "--fake"]])
    if (a.kill_gateway or a.kill_server) and not a.own:
        sys.exit("kill.py: only processes of an HBase of its own are killed: --own")
    if not a.own:
        host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
        return run(a, host, int(port))
    os.environ["HBASE_THRIFT_PORT"] = str(free_port())
    try:
        hbase_sh("start")
        run(a, "127.0.0.1", int(os.environ["HBASE_THRIFT_PORT"]))
    finally:
        hbase_sh("stop")
    return 0


if __name__ == "__main__":
    sys.exit(main())
