"""What changes a store while kill_changes.py kills its daemon: an actor each, which knows what was acknowledged."""
import http.client
import os
import random
import subprocess
import threading
import time
import urllib.parse

from metakit import ask
from tsdtest import binary

DAY = 86400
T0 = (int(time.time()) // DAY - 40) * DAY
N_VERSIONS = 5
UNKNOWN = 1 << 60
PAGES = 3          # counters of one client
GONE = (OSError, http.client.HTTPException, EOFError)
GONE_WORDS = "no daemon answers", "closed the connection", "Connection reset"


def points(d, metric, agg="none", frm=T0 - 400 * DAY, more=""):
    """[(tags, {ms: value})]"""
    path = "/api/query?start=%d&end=%d&ms=true&m=%s:%s%s" % (frm, T0 + 50 * DAY, agg, metric, more)
    status, answer = ask(d, "GET", path)
    if status == 400 and "No such name" in str(answer):
        return []
    if status != 200:
        raise ValueError("%s: %d %s" % (path, status, str(answer)[:300]))
    return [(r["tags"], {int(t): v for t, v in r["dps"].items()}) for r in answer]


class Actor:
    """Something that changes the store until the daemon is gone; problems are collected and end the run."""

    def __init__(self, seed):
        self.rng, self.problems, self.thread, self.n = random.Random(seed), [], None, 0

    def begin(self, d):
        self.d = d
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            self.work()
        except GONE:
            pass
        except ValueError as e:     # half of an answer
            if "JSON" not in repr(e) and "char " not in str(e):
                self.problems.append(repr(e))
        except Exception as e:
            self.problems.append(repr(e))

    def bad(self, text, *args):
        self.problems.append(text % args if args else text)

    def connect(self):
        s = self.d.connect()
        s.settimeout(120)
        return s

    def line(self, s, data):
        """Send lines and sync; the answer."""
        s.sendall(data.encode() + b"sync\n")
        answer = b""
        while not answer.endswith(b"\n"):
            got = s.recv(1000)
            if not got:
                raise EOFError
            answer += got
        return answer.decode()


class Puts(Actor):
    """New points over one connection. The metric has a kept total, so answers by day are compared with the points."""
    metric = "kill.put"

    def __init__(self, seed):
        super().__init__(seed)
        self.sent, self.acked, self.start, self.there = 0, 0, 0, {}

    def text(self, k):
        return "put %s %d %d host=h%d k=%d\n" % (self.metric, T0 + k * 7, (k * 7919) % 100003, k % 5, k % 3)

    def many(self):
        """How many points come next; 0: enough have come."""
        return self.rng.randrange(1, 250)

    def work(self):
        self.start = self.acked = self.sent
        with self.connect() as s:
            while n := self.many():
                data = "".join(map(self.text, range(self.sent, self.sent + n)))
                self.sent += n
                said = self.line(s, data)
                if not said.startswith("ok "):
                    return self.bad("sync: %s", said)
                self.acked = self.start + int(said[3:])
                self.n += n

    def check(self, last):
        frm = 0 if last else self.start
        got = {}
        for tags, dps in points(self.d, self.metric, frm=T0 + frm * 7):
            for t, v in dps.items():
                k = (t // 1000 - T0) // 7
                got[k] = v
                if tags != {"host": "h%d" % (k % 5), "k": str(k % 3)} or v != (k * 7919) % 100003 or k >= self.sent:
                    self.bad("a point that nobody sent: %r %d %r", tags, t, v)
        for k in range(self.start, self.sent):
            if k < self.acked and k not in got:
                return self.bad("point %d is lost; confirmed below %d", k, self.acked)
        self.there.update(((k, got[k]) for k in range(self.start, self.sent) if k in got))
        if last and got != self.there:
            self.bad("%d points were there, now %d", len(self.there), len(got))
        self.by_days()

    def by_days(self):
        want = {}
        for k, v in self.there.items():
            day = (T0 + k * 7) // DAY * DAY
            n, total = want.get(day, (0, 0))
            want[day] = n + 1, total + v
        for at, agg in enumerate(("count", "sum")):
            status, rows = ask(self.d, "GET", "/api/query?start=%d&end=%d&m=%s:%s&by=day" % (T0, T0 + 50 * DAY, agg, self.metric))
            if status != 200:
                if want:
                    self.bad("totals: %d %s", status, rows)
                continue
            got = {r["timestamp"]: r["value"] for r in rows if r["value"] is not None}
            if got != {day: w[at] for day, w in want.items()}:
                self.bad("totals by day: %s is %r, the points say %r", agg, got, {day: w[at] for day, w in want.items()})


class Counters(Actor):
    """incr! with one id over all kills: everything that was not confirmed is sent again."""
    metric = "kill.count"

    def __init__(self, seed, number):
        super().__init__(seed)
        self.number, self.id, self.ok, self.sent, self.size = number, "%d-%s" % (time.time(), os.urandom(8).hex()), 0, 0, 1

    def delta(self, seq):
        return seq * 7 % 13 + 1

    def work(self):
        with self.connect() as s:
            while True:
                to = self.ok + self.rng.randrange(1, 300)
                self.sent = max(self.sent, to)
                said = self.line(s, "".join("incr! %s %d %s %d %d client=c%d page=p%d\n" % (
                    self.id, i, self.metric, T0 + i % 50 * 3600, self.delta(i), self.number, i % PAGES) for i in range(self.ok + 1, to + 1)))
                if not said.startswith("ok "):
                    return self.bad("sync: %s", said)
                self.n += to - self.ok
                self.ok = to

    def sums(self):
        got = [0] * PAGES
        for tags, dps in points(self.d, self.metric, more="{client=c%d,page=*}" % self.number):
            got[int(tags["page"][1:])] += sum(dps.values())
        return got

    def check(self, last):
        got = self.sums()
        for page in range(PAGES):
            total, fits = 0, got[page] == 0 and self.ok < (page or PAGES)
            for i in range(1, self.sent + 1):
                if i % PAGES == page:
                    total += self.delta(i)
                    fits = fits or (total == got[page] and i + PAGES > self.ok)
            if not fits:
                self.bad("page %d has %d: not a sum of the first n for n from %d to %d", page, got[page], self.ok, self.sent)
        if last:
            self.finish()

    def finish(self):
        with self.connect() as s:
            for a in range(self.ok + 1, self.sent + 1, 500):
                said = self.line(s, "".join("incr! %s %d %s %d %d client=c%d page=p%d\n" % (
                    self.id, i, self.metric, T0 + i % 50 * 3600, self.delta(i), self.number, i % PAGES) for i in range(a, min(a + 500, self.sent + 1))))
                if not said.startswith("ok "):
                    self.bad("repeat: %s", said)
        self.ok = self.sent
        self.exact()

    def exact(self):
        want = [sum(self.delta(i) * self.size for i in range(1, self.ok + 1) if i % PAGES == page) for page in range(PAGES)]
        if self.sums() != want:
            self.bad("sums %r, exact are %r", self.sums(), want)


class Bodies(Counters):
    """The same by bodies of /api/incr: four increments of different series each, so several shards."""

    def __init__(self, seed, number):
        super().__init__(seed, number)
        self.size = 4

    def send(self, seq):
        tags = {"client": "c%d" % self.number, "page": "p%d" % (seq % PAGES)}
        body = {"id": self.id, "seq": seq, "points": [
            {"metric": self.metric, "timestamp": T0 + seq % 50 * 3600, "value": self.delta(seq), "tags": dict(tags, part=str(i))} for i in range(self.size)]}
        status, answer = ask(self.d, "POST", "/api/incr", body)
        while status == 503 and "send again later" in str(answer):     # memstores are full
            time.sleep(0.02)
            status, answer = ask(self.d, "POST", "/api/incr", body)
        if status != 204:
            self.bad("increment: %d %s", status, answer)
            raise EOFError

    def work(self):
        while True:
            self.sent = max(self.sent, self.ok + 1)
            self.send(self.ok + 1)
            self.ok += 1
            self.n += self.size

    def check(self, last):
        got = self.sums()
        for page in range(PAGES):
            least = sum(self.delta(i) * self.size for i in range(1, self.ok + 1) if i % PAGES == page)
            most = sum(self.delta(i) * self.size for i in range(1, self.sent + 1) if i % PAGES == page)
            if not least <= got[page] <= most:
                self.bad("page %d has %d, from %d to %d are possible", page, got[page], least, most)
        if last:
            for seq in range(self.ok + 1, self.sent + 1):
                self.send(seq)
            self.ok = self.sent
            self.exact()


class Whole(Actor):
    """Something of which versions follow each other; of each version, all points have its number as their value."""
    metric = "kill.whole"

    def __init__(self, seed):
        super().__init__(seed)
        self.acked, self.trying = 0, 0

    def size(self, v):
        return 40 * (v % 5 + 1)

    def work(self):
        while True:
            if self.trying == self.acked:
                self.trying += 1
            self.change(self.trying)
            self.acked = self.trying
            self.n += 1
            time.sleep(self.rng.random() * 0.1)

    def seen(self):
        values = [v for _, dps in points(self.d, self.metric, frm=T0) for v in dps.values()]
        return len(values), set(values)

    def look(self, first, last, when):
        """Called by readers too, with what was acknowledged before."""
        n, values = self.seen()
        if n == 0 and first == 0:
            return None
        if len(values) != 1 or n != self.size(next(iter(values))) or not first <= next(iter(values)) <= last():
            self.bad("%s: %d points, values %r; version %d was acknowledged, %d is under way", when, n, sorted(values)[:9], first, last())
            return None
        return next(iter(values))

    def check(self, last):
        there = self.look(self.acked, lambda: self.trying, "after a kill")
        if there is not None and there > self.acked:
            self.acked = there


def before(d, metric):
    """A point before what is replaced."""
    status, answer = ask(d, "POST", "/api/put", {"metric": metric, "timestamp": T0 - 5, "value": -1, "tags": {"host": "h0"}})
    if status != 204:
        raise EOFError(answer)


class Replace(Whole):
    """PUT /api/series, with a point before the range that must stay."""
    metric = "kill.put-series"

    def change(self, v):
        if v == 1:
            before(self.d, self.metric)
        path = "/api/series?" + urllib.parse.urlencode({"series": self.metric, "start": T0, "end": T0 + 40 * DAY})
        status, answer = ask(self.d, "PUT", path, [{"metric": self.metric, "timestamp": T0 + i * 5000, "value": v, "tags": {"host": "h%d" % (i % 7)}} for i in range(self.size(v))])
        if status == 503 and "try again" in str(answer):     # another change is handed over
            time.sleep(0.02)
            return self.change(v)
        if status == 503:
            raise EOFError
        if status != 200:
            self.bad("PUT /api/series: %d %s", status, answer)
            raise EOFError

    def check(self, last):
        super().check(last)
        if self.acked and [v for _, dps in points(self.d, self.metric) for t, v in dps.items() if t < T0 * 1000] != [-1]:
            self.bad("the point before the range has changed: %r", points(self.d, self.metric)[:1])


class Command(Whole):
    """A version by a command of tsd that reads a file."""

    def __init__(self, seed, folder):
        super().__init__(seed)
        self.file = os.path.join(folder, self.metric)
        self.proc = None

    def lines(self, v):
        return "".join("%s %d %d host=h%d\n" % (self.metric, T0 + i * 500, v, i % 7) for i in range(self.size(v)))

    def change(self, v):
        if v != getattr(self, "written", None):     # a repeated command finds the same file
            with open(self.file, "w", encoding="ascii") as f:
                f.write(self.lines(v))
            self.written = v
        self.proc = subprocess.Popen([binary(), *self.argv(), "--port", str(self.d.port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        kill = self.rng.random() < 0.15
        if kill:
            time.sleep(self.rng.random() ** 2 * 0.3)
            self.proc.kill()
        _, said = self.proc.communicate(timeout=240)
        if self.proc.returncode == 0:
            return
        if kill and self.proc.returncode < 0 or "try again" in said:      # another change is handed over
            return self.change(v)
        alive = self.d.proc and self.d.proc.poll() is None
        if alive and not any(w in said for w in GONE_WORDS):
            time.sleep(0.2)
            if self.d.proc and self.d.proc.poll() is None and not getattr(self.d, "ending", False):
                self.bad("%s: %s", self.argv()[0], said)
        raise EOFError


class ReplaceFiles(Command):
    metric = "kill.replace"

    def size(self, v):
        return 1000 * (v % 3 + 1)

    def argv(self):
        return ["replace", self.file, "--series", self.metric, "--from", str(T0), "--to", str(T0 + 40 * DAY)]

    def change(self, v):
        if v == 1:
            before(self.d, self.metric)
        super().change(v)


class Bulk(Command):
    metric = "kill.bulk"

    def size(self, _):
        return 4000

    def argv(self):
        return ["import", "--bulk", "--bulk-memory", "8M", self.file]


class Versions(Actor):
    """Values written over each other, each confirmed, with the times of writing."""
    metric = "kill.versions"
    SLOTS = 6

    def __init__(self, seed):
        super().__init__(seed)
        self.log = [[] for _ in range(self.SLOTS)]     # [ms before, ms after, None = under way, UNKNOWN = it was when a kill came; value]

    def work(self):
        status, answer = ask(self.d, "POST", "/api/versions", {"metric": self.metric, "versions": N_VERSIONS})
        if status != 200:
            return self.bad("versions: %d %s", status, answer)
        with self.connect() as s:
            while True:
                slot, value = self.rng.randrange(self.SLOTS), self.rng.randrange(10**9)
                began = int(time.time() * 1000)
                self.log[slot].append([began, None, value])
                said = self.line(s, "put %s %d %d slot=s%d\n" % (self.metric, T0 + slot * 4000, value, slot))
                if not said.startswith("ok "):
                    return self.bad("sync: %s", said)
                self.log[slot][-1][1] = int(time.time() * 1000) + 1
                self.n += 1
                time.sleep(0.004)

    def slots(self, more):
        status, answer = ask(self.d, "GET", "/api/query?start=%d&end=%d&m=none:%s%s" % (T0, T0 + DAY, self.metric, more))
        return status, {int(r["tags"]["slot"][1:]): list(r["dps"].values())[0] for r in answer} if status == 200 else answer

    def check(self, last):
        status, now = self.slots("")
        if status != 200:
            if any(w[1] for log in self.log for w in log):
                self.bad("%d %s", status, now)
            return
        for slot, log in enumerate(self.log):
            if log and log[-1][1] is None:      # under way when the daemon was killed: its point may be there, or its version, or both
                log[-1][1] = UNKNOWN
                log[-1].append(now.get(slot) == log[-1][2])
            there = [w[2] for w in log if w[1] != UNKNOWN or w[3]]
            if now.get(slot) != (there[-1] if there else None):
                self.bad("slot %d has %r, was confirmed or seen: %r", slot, now.get(slot), log[-3:])
        for slot, log in enumerate(self.log):
            self.as_of(slot, log)

    def as_of(self, slot, log):
        """After a write that was confirmed, and before the next one: its value is the answer, while that is known."""
        for a, b in list(zip(log, log[1:] + [[int(time.time() * 1000)]]))[-N_VERSIONS:]:
            at = (a[1] + b[0]) // 2
            if not a[1] < at < b[0]:
                continue
            status, then = self.slots("{slot=s%d}&as_of=%d" % (slot, at))
            if status != 200 or then.get(slot) != a[2]:
                self.bad("slot %d as of %d: %d %r, %r was the value; all: %r", slot, at, status, then, a[2], log[-7:])


class Rules(Actor):
    """Rules of retention that come and go, each of a metric with old and new points."""

    def __init__(self, seed):
        super().__init__(seed)
        self.on, self.doubt, self.next = set(), None, 0

    def change(self, word, k):
        self.doubt = k
        p = subprocess.run([binary(), "retention", word, "kill.rule%d" % k, "points=30d", "--port", str(self.d.port)], capture_output=True, text=True, timeout=240)
        if p.returncode == 0:
            (self.on.add if word == "add" else self.on.discard)(k)
            self.doubt = None
            self.n += 1
            return
        time.sleep(0.2)
        if not any(w in p.stderr for w in GONE_WORDS) and self.d.proc and self.d.proc.poll() is None and not getattr(self.d, "ending", False):
            self.bad("retention %s %d: %s", word, k, p.stderr)
        raise EOFError

    def work(self):
        while True:
            if len(self.on) > 4:
                self.change("remove", self.rng.choice(sorted(self.on)))
                continue
            self.next += 1
            with self.connect() as s:
                said = self.line(s, "put kill.rule%d %d 1 age=old\nput kill.rule%d %d 2 age=new\n" % (self.next, T0, self.next, T0 + 39 * DAY))
                if said != "ok 2\n":
                    return self.bad("sync: %s", said)
            self.change("add", self.next)
            time.sleep(self.rng.random() * 0.1)

    def check(self, last):
        rules = {int(r["rule"].split()[0][len("kill.rule"):]) for r in ask(self.d, "GET", "/api/retention")[1]["rules"] if r["rule"].startswith("kill.rule")}
        if self.doubt is not None:
            (self.on.add if self.doubt in rules else self.on.discard)(self.doubt)
            self.doubt = None
        if rules != self.on:
            self.bad("rules of %r, confirmed were %r", sorted(rules), sorted(self.on))
        for k in sorted(self.on):
            got = {tags["age"]: list(dps.values()) for tags, dps in points(self.d, "kill.rule%d" % k)}
            if got != {"new": [2]}:
                self.bad("rule %d is set, and there is %r", k, got)


class Admin(Actor):
    """Flushes, merges, compression, kept totals, shards."""

    def __init__(self, seed, space):
        super().__init__(seed)
        self.space, self.total, self.total_doubt, self.shards = space, False, False, None

    def work(self):
        while True:
            time.sleep(self.rng.random() ** 2 * 0.3)
            what = self.rng.choice(["files", "files", "compact", "disk", "level", "level", "total", "shards"])
            self.n += 1
            if what == "level":
                status, answer = ask(self.d, "POST", "/api/admin/compact?from=%d&to=%d&level=%d" % (T0 - DAY, T0 + 50 * DAY, self.rng.choice([4, 5, 6])))
                if status not in (200, 503):
                    self.bad("compact: %d %s", status, answer)
            elif what == "total":
                self.total_doubt = True
                method = "DELETE" if self.total else "POST"
                status, answer = ask(self.d, method, "/api/total", {"metric": "kill.put", "over": ["host"]})
                if status != 200:
                    return self.bad("total: %d %s", status, answer)
                self.total, self.total_doubt = not self.total, False
            elif what == "shards":
                n = self.rng.choice([4, 8, 16, 32])
                status, answer = ask(self.d, "POST", "/api/admin/rebalance?shards=%d" % n)
                if status != 200 and not (status == 503 and "is being changed" in str(answer)):
                    return self.bad("shards: %d %s", status, answer)
            else:
                self.d.flush(what)

    def check(self, last):
        there = any(t["metric"] == "kill.put" for t in ask(self.d, "GET", "/api/total")[1]["totals"])
        if there != self.total and not self.total_doubt:
            self.bad("the kept total is %s, confirmed was %s", there, self.total)
        self.total, self.total_doubt = there, False
        self.shards = ask(self.d, "GET", "/api/admin/rebalance")[1]


class Reader(Actor):
    """Looks at versions that follow each other while they do."""

    def __init__(self, seed, wholes):
        super().__init__(seed)
        self.wholes = wholes

    def work(self):
        while True:
            for w in self.wholes:
                first = w.acked
                w.look(first, lambda w=w: w.trying, "meanwhile")
                self.n += 1
            ask(self.d, "GET", "/api/query?start=%d&end=%d&m=sum:kill.put&by=day" % (T0, T0 + 50 * DAY))
            time.sleep(0.02)

    def check(self, last):
        pass


class Filler(Puts):
    """In the mode space: points of ever newer days, so that the oldest are removed; what is newer than the cutoff must be there."""
    metric = "kill.fill"

    def __init__(self, seed):
        super().__init__(seed)
        self.cutoff = 0

    def text(self, k):
        return "put %s %d %d host=h%d k=%d\n" % (self.metric, T0 + k * 7, (k * 7919 * 7919 * 31) % (1 << 52), k % 5, k % 3)

    def many(self):
        return max(0, min(self.rng.randrange(1, 4000), 39 * DAY // 7 - self.sent))

    def check(self, last):
        limit = ask(self.d, "GET", "/api/retention?explain=true")[1].get("limit", {})
        rows = points(self.d, self.metric)
        after = ask(self.d, "GET", "/api/retention?explain=true")[1].get("limit", {})
        cut = [x.get("cutoff") or 0 for x in (limit, after)]
        if cut[0] < self.cutoff:
            self.bad("the cutoff was %d and is %d", self.cutoff, cut[0])
        self.cutoff = cut[1]
        got = {(t // 1000 - T0) // 7: v for _, dps in rows for t, v in dps.items()}
        for k, v in got.items():
            if k >= self.sent or v != (k * 7919 * 7919 * 31) % (1 << 52):
                return self.bad("a point that nobody sent: %d %r", k, v)
            if (T0 + k * 7) * 1000 < cut[0]:
                return self.bad("a point below the cutoff is shown: %d, %r", k, cut)
        for k in range(self.start, self.sent):
            if k in got:
                self.there[k] = got[k]
            elif k < self.acked and (T0 + k * 7) * 1000 >= cut[1]:
                return self.bad("point %d is lost; confirmed below %d, cutoff %r", k, self.acked, cut)
        lost = [k for k in self.there if k not in got and (T0 + k * 7) * 1000 >= cut[1]]
        if lost:
            self.bad("%d points above the cutoff are gone, first %d; %r", len(lost), min(lost), cut)


class Limits(Actor):
    """max_bytes is set again and again."""

    def work(self):
        while True:
            status, answer = ask(self.d, "POST", "/api/retention", {"maxBytes": self.rng.choice([1536, 2048, 3072, 4096]) << 10})
            if status != 200:
                return self.bad("max_bytes: %d %s", status, answer)
            self.n += 1
            time.sleep(self.rng.random() * 0.5)
            self.d.flush(self.rng.choice(["files", "compact"]))

    def check(self, last):
        pass
