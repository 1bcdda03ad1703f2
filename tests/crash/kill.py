#!/usr/bin/env python3
"""kill -9 at random moments of a load over lines, HTTP and import, flushes and merges under way; after each kill the store is
compared with what is known outside.

    kill.py [--rounds N] [--seed N] [--conns N] [--folder-rounds N]

Checked after every kill, for each series: all that `sync`, a 204 or import had confirmed is there with its values; nothing is there
that was not sent; what survives of a round is a front part of what was sent in it; what a query had shown is there; what was there
after an earlier kill still is (count and sum; every value before a folder is given up). Exit 0: all held.
"""
import argparse
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from tsdtest import Daemon, binary  # noqa: E402

BASE = 1700000000
SERIES = 8        # series a stream writes, in turn
BLOCK = 4000      # lines a write, at most
PROGRESS = 20     # rounds a line of output


def value(number, k):
    return (k * 7919 + number) % 100003


class Stream(threading.Thread):
    """Sends lines 0, 1, 2...: line k goes to series k mod SERIES at second BASE + k. What a kill cost is not sent again: a round goes
    on where the last one ended, so holes may be at its start only."""

    metric = "crash.lines"

    def __init__(self, number):
        super().__init__()
        self.number, self.sent, self.start_at, self.confirmed, self.n_confirmed = number, 0, 0, 0, 0
        self.there = [[] for _ in range(SERIES)]      # by series: ranges of lines found after the kills so far
        self.problem = None

    def begin(self, daemon, seed):
        super().__init__(daemon=True)
        self.tsd, self.start_at, self.confirmed, self.rng = daemon, self.sent, self.sent, random.Random(seed * 1000 + self.number)

    def lines(self, a, b, put):
        n, m = self.number, self.metric
        return "".join(["%s%s %d %d conn=%d s=%d\n" % (put, m, BASE + k, (k * 7919 + n) % 100003, n, k % SERIES) for k in range(a, b)]).encode()

    def confirm(self, upto):
        if not self.confirmed <= upto <= self.sent:
            self.problem = "%d lines confirmed after %d, sent %d" % (upto, self.confirmed, self.sent)
        self.n_confirmed += upto - self.confirmed
        self.confirmed = upto

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
        with socket.create_connection(("127.0.0.1", self.tsd.port), 10) as s:
            s.settimeout(300)
            while True:
                n = self.rng.randrange(1, BLOCK if self.rng.random() < 0.7 else 50)
                data = self.lines(self.sent, self.sent + n, "put ")
                self.sent += n          # before sending: any part of it may survive
                s.sendall(data)
                if self.rng.random() < 0.4:
                    s.sendall(b"sync\n")
                    answer = b""
                    while not answer.endswith(b"\n"):
                        got = s.recv(100)
                        if not got:
                            return
                        answer += got
                    if not answer.startswith(b"ok "):
                        self.problem = "answer to sync: %r" % answer
                        return
                    self.confirm(self.start_at + int(answer[3:]))


class Http(Stream):
    """Posts of up to 400 points; a 204 confirms."""

    metric = "crash.http"

    def work(self):
        while True:
            n = self.rng.randrange(1, 400)
            body = [{"metric": self.metric, "timestamp": BASE + k, "value": value(self.number, k), "tags": {"conn": self.number, "s": k % SERIES}}
                    for k in range(self.sent, self.sent + n)]
            self.sent += n
            req = urllib.request.Request("http://127.0.0.1:%d/api/put" % self.tsd.port, json.dumps(body).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(req, timeout=30) as f:
                if f.status != 204:
                    self.problem = "answer to /api/put: %d" % f.status
            self.confirm(self.sent)


class Import(Stream):
    """`tsd import -`, one process after the other; it says at its end what is safe."""

    metric = "crash.import"

    def work(self):
        while True:
            first, n = self.sent, self.rng.randrange(1, 60000 if self.rng.random() < 0.5 else 2000)
            p = subprocess.Popen([binary(), "import", "-", "--port", str(self.tsd.port)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                for a in range(first, first + n, BLOCK):
                    data = self.lines(a, min(a + BLOCK, first + n), "")
                    self.sent = min(a + BLOCK, first + n)
                    p.stdin.write(data)
                p.stdin.close()
            except BrokenPipeError:
                pass
            text = p.stderr.read().decode()
            p.stderr.close()
            if p.wait() == 0:
                self.confirm(first + n)
                continue
            safe = re.search(r"; (\d+) points are safe", text)
            if safe:
                self.confirm(first + int(safe.group(1)))
            elif "no daemon answers" not in text and "closed the connection" not in text:
                self.problem = "import: %s" % text.strip()
            return


class Asker(threading.Thread):
    """Asks for one series of a stream again and again: what was shown must stay."""

    def begin(self, daemon, stream):
        super().__init__(daemon=True)
        self.tsd, self.stream, self.shown = daemon, stream, {}

    def run(self):
        while True:
            try:
                got = ask(self.tsd, self.stream, self.stream.start_at, self.stream.start_at + 10**6, only=3)
            except Exception:       # the daemon was killed
                return
            self.shown.update(got.get(3, {}))
            time.sleep(0.05)


class Flusher(threading.Thread):
    """Flushes and merges at random; pulls lets main wait for the moment one begins."""

    def begin(self, daemon, rng):
        super().__init__(daemon=True)
        self.tsd, self.rng, self.pulls = daemon, random.Random(rng.random()), threading.Event()

    def run(self):
        while True:
            time.sleep(self.rng.random() * 0.25)
            self.pulls.set()
            try:
                self.tsd.flush(self.rng.choice(["files", "files", "compact", "disk"]))
            except Exception:       # the daemon was killed
                return
            self.pulls.clear()


def query(daemon, stream, what, frm, to, only=None):
    """Answer for lines [frm, to) of a stream, by series; a metric or tag not seen yet is an empty one."""
    m = "%s:%s{conn=%d,s=%s}" % (what, stream.metric, stream.number, "*" if only is None else only)
    try:
        r = daemon.api("/api/query?arrays=true&start=%d&end=%d&m=%s" % (BASE + frm, (BASE + to) * 1000 - 1, urllib.parse.quote(m)))
    except urllib.error.HTTPError as e:
        if e.code == 400:
            return {}
        raise
    return {int(one["tags"]["s"]): one["dps"] for one in r}


def ask(daemon, stream, frm, to, only=None):
    """{series: {time: value}}"""
    return {s: dict(map(tuple, dps)) for s, dps in query(daemon, stream, "none", frm, to, only).items()}


class Checker:
    def __init__(self, daemon):
        self.daemon, self.bad = daemon, 0

    def say(self, stream, text):
        self.bad += 1
        print("DIFFERENT: %s conn=%d: %s" % (stream.metric, stream.number, text), flush=True)

    def older(self, st):
        """What was there after the kills before, by count and sum."""
        if not any(st.there):
            return
        count = query(self.daemon, st, "sum:0all-count", 0, st.start_at)
        total = query(self.daemon, st, "sum:0all-sum", 0, st.start_at)
        for s in range(SERIES):
            ks = [r for r in st.there[s] if len(r)]
            n = sum(map(len, ks))
            want = (n, sum(value(st.number, k) for r in ks for k in r)) if n else (0, 0)
            have = tuple(answer[s][0][1] if answer.get(s) else 0 for answer in (count, total))  # none: points are of the same hour, behind
            if want != have:
                self.say(st, "series %d had (points, sum) %r, now %r" % (s, want, have))

    def newer(self, st):
        """What this round's kill left."""
        got = ask(self.daemon, st, st.start_at, st.start_at + 10**8)
        for s in range(SERIES):
            have = got.get(s, {})
            sent = range(st.start_at + (s - st.start_at) % SERIES, st.sent, SERIES)
            front = sent[:len(have)]
            if len(front) < len(have):
                self.say(st, "series %d has %d points, sent were %d" % (s, len(have), len(sent)))
            for k in front:
                if have.get(BASE + k) != value(st.number, k):
                    self.say(st, "series %d has %r at line %d, sent was %d; lines %d to %d were sent, confirmed below %d" %
                             (s, have.get(BASE + k), k, value(st.number, k), st.start_at, st.sent, st.confirmed))
                    break
            n_confirmed = len(range(sent.start, st.confirmed, SERIES))
            if len(front) < n_confirmed:
                self.say(st, "series %d: %d of %d confirmed points are lost" % (s, n_confirmed - len(front), n_confirmed))
            st.there[s].append(front)

    def all_values(self, st):
        """Every value of the folder."""
        got = ask(self.daemon, st, 0, 10**8)
        for s in range(SERIES):
            want = {BASE + k: value(st.number, k) for r in st.there[s] for k in r}
            if got.get(s, {}) != want:
                self.say(st, "series %d: not all of its %d points are what they were" % (s, len(want)))

    def shown(self, asker):
        have = ask(self.daemon, asker.stream, asker.stream.start_at, 10**8, only=3).get(3, {})
        lost = [t for t, v in asker.shown.items() if have.get(t) != v]
        if lost:
            self.say(asker.stream, "%d points that a query had shown are gone" % len(lost))


class Folder:
    """A new store and what is known of it."""

    def __init__(self, n_conns):
        self.daemon = Daemon(workers=2, memstore_bytes="1M")
        self.streams = [*[Lines(i) for i in range(n_conns)], Http(90), Import(80)]
        self.asker, self.flusher = Asker(), Flusher()
        self.checker = Checker(self.daemon)

    def round(self, rng):
        """One kill; True if it came into a flush."""
        d = self.daemon
        d.keys["wal_sync"] = rng.choice(["always", "interval", "interval", "none"])
        d.start(rng.choice([1, 2, 3]))
        for st in self.streams:
            st.begin(d, rng.randrange(10**6))
        self.asker.begin(d, self.streams[0])
        self.flusher.begin(d, rng)
        threads = [*self.streams, self.asker, self.flusher]
        for t in threads:
            t.start()
        time.sleep(rng.random() ** 2 * 1.0)
        in_flush = rng.random() < 0.4 and self.flusher.pulls.wait(2)
        if in_flush:
            time.sleep(rng.random() ** 2 * 0.06)
        d.kill()
        for t in threads:
            t.join(60)
        return in_flush

    def check(self, rng, last):
        d = self.daemon
        d.start(rng.choice([1, 2, 3]))
        for st in self.streams:
            if st.problem or st.is_alive():
                self.checker.say(st, st.problem or "the client hangs")
            self.checker.older(st)
            self.checker.newer(st)
            if last:
                self.checker.all_values(st)
        self.checker.shown(self.asker)
        if rng.random() < 0.5:
            d.stop()
        else:
            d.kill()
        return self.checker.bad

    def drop(self):
        shutil.rmtree(self.daemon.base, True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=10)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--conns", type=int, default=3)
    ap.add_argument("--folder-rounds", type=int, default=25, help="kills of a folder before a new one is begun")
    a = ap.parse_args()
    rng = random.Random(a.seed)
    print("seed %d, %d rounds" % (a.seed, a.rounds), flush=True)
    began, folder = time.monotonic(), None
    n_flush = n_sent = n_confirmed = n_there = 0
    for i in range(1, a.rounds + 1):
        folder = folder or Folder(a.conns)
        n_flush += folder.round(rng)
        last = i % a.folder_rounds == 0 or i == a.rounds
        if folder.check(rng, last):
            print("round %d of %d, data kept in %s" % (i, a.rounds, folder.daemon.data), flush=True)
            os._exit(1)
        if last:
            n_sent += sum(st.sent for st in folder.streams)
            n_confirmed += sum(st.n_confirmed for st in folder.streams)
            n_there += sum(len(r) for st in folder.streams for s in st.there for r in s)
            folder.drop()
            folder = None
        if i % PROGRESS == 0:
            print("%d kills, %d s" % (i, time.monotonic() - began), flush=True)
    print("%d kills, %d of them into a flush or merge: %d points sent, %d confirmed, %d survived: nothing confirmed or shown lost, nothing invented" %
          (a.rounds, n_flush, n_sent, n_confirmed, n_there))
    return 0


if __name__ == "__main__":
    sys.exit(main())
