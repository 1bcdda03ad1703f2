"""The number of shards changes all the time while kill_changes.py kills its daemon at steps of a change (mode shards)."""
import random
import time
import urllib.parse

from changes import T0, Actor, points
from metakit import ask

NUMBERS = 1, 2, 4, 8, 16
WRONG = 0, 3, 5, 7, 12, 8192     # no powers of two up to 4096


class Shards(Actor):
    """Asks for another number as soon as there is the last one; a number that is no power of two is refused, and changes nothing.
    grows: only for more, since clients of lines add what differs by shard, and fewer shards would wait until their ids are forgotten."""

    def __init__(self, seed, grows):
        super().__init__(seed)
        self.now, self.grows = None, grows

    def want(self):
        """Ask for a number; False: a change is at work."""
        n = min(2 * (self.now or 1), 64) if self.grows else self.rng.choice([k for k in NUMBERS if k != self.now])
        status, answer = ask(self.d, "POST", "/api/admin/rebalance?shards=%d" % n)
        if status == 503 and "is being changed" in str(answer):
            return False
        if status != 200:
            self.bad("shards: %d %s", status, answer)
        return True

    def work(self):
        while True:
            wrong = self.rng.choice(WRONG)
            status, answer = ask(self.d, "POST", "/api/admin/rebalance?shards=%d" % wrong)
            if status != 400 and not (wrong == 0 and status in (400, 503)):
                self.bad("%d shards: %d %s", wrong, status, answer)
            self.want()
            time.sleep(self.rng.random() * 0.1)
            status, answer = ask(self.d, "GET", "/api/admin/rebalance")
            if status != 200 or answer["shards"] not in (*NUMBERS, 32, 64):
                return self.bad("shards: %d %s", status, answer)
            self.n += answer["shards"] != self.now
            self.now = answer["shards"]

    def check(self, last):
        status, answer = ask(self.d, "GET", "/api/admin/rebalance")
        if status != 200 or answer["shards"] not in (*NUMBERS, 32, 64):
            self.bad("shards after a kill: %d %s", status, answer)


class Deletes(Actor):
    """Points of one version after another; what was before is deleted as a whole, each delete confirmed before the next version comes."""
    metric = "kill.delete"
    SERIES = 12

    def __init__(self, seed):
        super().__init__(seed)
        self.acked, self.trying, self.gone, self.deleting = 0, 0, 0, 0     # versions put; versions below gone are deleted, below deleting perhaps

    def work(self):
        with self.connect() as s:
            while True:
                self.trying = self.acked + 1
                said = self.line(s, "".join("put %s %d %d host=h%d\n" % (self.metric, T0 + self.trying * 10, self.trying, i) for i in range(self.SERIES)))
                if not said.startswith("ok "):
                    return self.bad("sync: %s", said)
                self.acked = self.trying
                self.n += 1
                if self.rng.random() < 0.3:
                    self.deleting = self.acked + 1
                    path = "/api/delete?" + urllib.parse.urlencode({"start": T0, "end": T0 + self.acked * 10, "m": "sum:" + self.metric})
                    status, answer = ask(self.d, "DELETE", path)
                    if status == 503:
                        continue
                    if status != 200:
                        return self.bad("delete: %d %s", status, answer)
                    self.gone = self.deleting

    def check(self, last):
        got = {}
        for tags, dps in points(self.d, self.metric):
            for t, v in dps.items():
                got.setdefault(v, set()).add(tags["host"])
                if t != (T0 + v * 10) * 1000:
                    self.bad("a point that nobody sent: %r %d %r", tags, t, v)
        for v, hosts in got.items():
            if v < self.gone:
                return self.bad("version %d was deleted, below %d; %d of its points are there", v, self.gone, len(hosts))
            if v > self.trying:
                return self.bad("version %d was never sent", v)
        for v in range(max(self.gone, self.deleting), self.acked + 1):
            if v and len(got.get(v, ())) != self.SERIES:
                return self.bad("version %d of %d was confirmed; %d of %d points are there", v, self.acked, len(got.get(v, ())), self.SERIES)


class Watch(Actor):
    """Looks at points and counters while shards change: each confirmed point is there once, and each sum is that of a number of increments that were sent."""

    def __init__(self, seed, puts, counters):
        super().__init__(seed)
        self.puts, self.counters, self.rng = puts, counters, random.Random(seed)

    def look_points(self):
        p, upto = self.puts, self.puts.acked
        if upto <= p.start + 1:
            return
        frm = max(p.start, upto - self.rng.randrange(2, 3000))
        want = {(T0 + k * 7) * 1000: (k * 7919) % 100003 for k in range(frm, upto)}
        path = "/api/query?start=%d&end=%d&ms=true&m=zimsum:%s" % (T0 + frm * 7, T0 + (upto - 1) * 7, p.metric)
        status, answer = ask(self.d, "GET", path)
        if status != 200 or len(answer) != 1:
            return self.bad("points %d to %d: %d %.300s", frm, upto, status, str(answer))
        got = {int(t): v for t, v in answer[0]["dps"].items()}
        if got != want:
            wrong = [(t, got.get(t), want.get(t)) for t in sorted(got.keys() | want.keys()) if got.get(t) != want.get(t)]
            self.bad("points %d to %d: %d are wrong: %r", frm, upto, len(wrong), wrong[:5])

    def look_counter(self, c):
        ok = c.ok
        got = c.sums()
        sent = c.sent
        for page, seen in enumerate(got):
            least, most = (sum(c.delta(i) * c.size for i in range(1, n + 1) if i % len(got) == page) for n in (ok, sent))
            if not least <= seen <= most:
                self.bad("page %d of client %d has %d, from %d to %d are possible", page, c.number, seen, least, most)

    def work(self):
        while True:
            self.look_points()
            self.look_counter(self.rng.choice(self.counters))
            self.n += 1
            time.sleep(0.005)

    def check(self, last):
        pass
