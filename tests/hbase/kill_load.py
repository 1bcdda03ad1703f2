"""What kill.py sends: points of a few series from several clients at the same time, and what became of each."""
import json
import random
import threading
import time
import urllib.error
import urllib.request

from tsdtest import Daemon

SERIES = 8        # series of a stream at the start; each round adds one. Every fourth has times in milliseconds
BLOCK = 2000      # points of a write, at most
HOUR = 3600000


def value(number, series, k, version):
    """A number of any size that OpenTSDB's tables know."""
    h = (k * 7919 + series * 31337 + number * 17 + version * 104729) & 0xffffffff
    kind = h >> 3 & 7
    return (h % 100 - 50, h % 100, h % 30000, -h, h << 20, h % 1000 + 0.5, h % 100000 / 1000, 7)[kind]


class Stream(threading.Thread):
    """Writes series of its own in order of time, and now and then older times again with other values. first[s][k] is the version of time
    k that is confirmed, last[s][k] the one that was sent; 0 = none. part: its share of all points."""

    def __init__(self, number, base_ms, part):
        super().__init__()
        self.number, self.base_ms, self.part, self.n_sent, self.n_confirmed = number, base_ms, part, 0, 0
        self.first, self.last = ([bytearray() for _ in range(SERIES)] for _ in range(2))
        self.pending, self.problem, self.breaks = [], None, None

    def begin(self, daemon, seed, points):
        """Prepare for another round, with one more series. points: of all streams."""
        super().__init__(daemon=True)
        self.first.append(bytearray())
        self.last.append(bytearray())
        self.tsd, self.rng, self.share, self.pending, self.breaks = daemon, random.Random(seed), self.n_sent + int(points * self.part), [], None

    def time(self, series, k):
        return self.base_ms + (k * 1500 + k * 37 % 1000 if series % 4 == 3 else k * 10000)

    def number_of(self, series, t):
        """The k of a time, or None."""
        k = (t - self.base_ms) // (1500 if series % 4 == 3 else 10000)
        return k if 0 <= k < len(self.last[series]) and self.time(series, k) == t else None

    def some(self):
        """Points to send: (series, k, version)."""
        s, n = self.rng.randrange(len(self.last)), self.rng.randrange(1, BLOCK if self.rng.random() < 0.7 else 20)
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
        except (OSError, urllib.error.URLError) as e:
            self.breaks = repr(e)
        except Exception as e:       # http.client has its own names for a connection that ends
            if type(e).__module__ == "http.client":
                self.breaks = repr(e)
            else:
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
                raise ConnectionError("the connection ended before the answer to sync")
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
    """The daemon of the load; throttled: {what it has said when it could not take points: how often}."""

    def __init__(self, **keys):
        super().__init__(**keys)
        self.throttled = {}

    def api_put(self, body):
        """Post points until they are taken: 503 says that they should be sent again later."""
        data = json.dumps(body).encode()
        for _ in range(600):
            req = urllib.request.Request("http://127.0.0.1:%d/api/put" % self.port, data, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(req, timeout=60) as f:
                    if f.status != 204:
                        raise ValueError("answer to /api/put: %d" % f.status)
                    return
            except urllib.error.HTTPError as e:
                if e.code != 503:
                    raise
                text = json.loads(e.read())["error"]["message"]
                self.throttled[text] = self.throttled.get(text, 0) + 1
                time.sleep(0.1)
        raise ValueError("points were refused for a minute: %s" % text)
