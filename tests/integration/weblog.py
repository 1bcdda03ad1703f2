#!/usr/bin/env python3
"""Every line of a web log counts exactly once: logs are written in pieces (torn lines too) into followed files that are rotated in all ways
(rename, copy and truncate, packed, moved to another folder), while collector and daemon are killed with -9. Totals by day, hour and domain must equal a plain count.

    weblog.py [--kills N | --beside N] [--seed N] [LOG...]     .log: combined; .tsv: NASA's trace; plain, .gz or .zst
"""
import argparse
import atexit
import collections
import datetime
import glob
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from tsdtest import Daemon, ROOT, binary

UTC = datetime.timezone.utc
COMBINED = re.compile(r'^(\S+) \S+ \S+ \[([^\]]+)\] "([^"]*)" (\d+) (\S+)(?: "([^"]*)")?')
ENV = {k: v for k, v in os.environ.items() if not k.startswith("TSD_")}
JUNK = ["no log line at all", "\x00\x01\x02", '1.1.1.1 - - [99/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5 "-" "-"']


def check(ok, what):
    if not ok:
        sys.exit("weblog: " + what)


def clean(s):
    return re.sub(r"[^A-Za-z0-9._/-]", "_", s.lower())[:100] or "none"


def referrer_host(url):
    m = re.match(r"^[a-z]+://(?:[^/@]*@)?([^/:?#]+)", url, re.I)
    return m.group(1).rstrip(".") if m else "none" if url in ("-", "") else re.split(r"[/:?#]", url)[0] or "none"


def client_site(host):
    labels = host.lower().strip(".").split(".")
    if labels[-1].isdigit():
        return "ip"
    return ".".join(labels[-(3 if len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3 else 2):])


def text_of(path):
    tool = {".gz": ["gzip", "-dc"], ".zst": ["zstd", "-dc"]}.get(os.path.splitext(path)[1], ["cat"])
    return subprocess.run([*tool, path], stdout=subprocess.PIPE, check=True).stdout.decode("latin-1")


def lines_of(path):
    """Log lines, and what follows of each: (seconds, domain, status class, bytes)."""
    if ".tsv" not in path:
        for line in text_of(path).split("\n")[:-1]:
            m = COMBINED.match(line)
            if m:
                t = int(datetime.datetime.strptime(m.group(2), "%d/%b/%Y:%H:%M:%S %z").timestamp())
                yield line, (t, clean(referrer_host(m.group(6))), m.group(4)[0] + "xx", 0 if m.group(5) == "-" else int(m.group(5)))
        return
    rows = [row.split("\t") for row in text_of(path).split("\n") if row]
    col = {name: i for i, name in enumerate(rows[0])}
    for r in rows[1:]:
        if len(r) <= col["bytes"] or not r[col["time"]].isdigit() or not r[col["response"]].isdigit():
            continue
        t, size = int(r[col["time"]]), r[col["bytes"]]
        size = size if size.isdigit() else "-"
        at = datetime.datetime.fromtimestamp(t, datetime.timezone(datetime.timedelta(hours=-4)))
        yield ('%s - - [%s] "%s %s HTTP/1.0" %s %s' % (r[col["host"]], at.strftime("%d/%b/%Y:%H:%M:%S %z"), r[col["method"]], r[col["url"]], r[col["response"]], size),
               (t, clean(client_site(r[col["host"]])), r[col["response"]][0] + "xx", 0 if size == "-" else int(size)))


class Log:
    """A file that a web server appends to and that is rotated now and then."""

    def __init__(self, path, rng):
        self.path, self.rng, self.n = path, rng, 0
        self.f = open(path, "ab", buffering=0)
        self.kinds = collections.Counter()

    def write(self, data):
        self.f.write(data)

    def packed(self, path):
        """Pack a rotated file as logrotate does."""
        tool = self.rng.choice([["gzip"], ["zstd", "-q", "--rm"]])
        subprocess.run([*tool, path], check=True)
        self.kinds["packed"] += 1

    def shift(self):
        """access.log.1 becomes access.log.2 and so on."""
        rotated = [p for p in glob.glob(self.path + ".*")]
        for p in sorted(rotated, key=lambda p: -int(re.search(r"\.log\.(\d+)", p).group(1))):
            m = re.match(r"(.*\.log\.)(\d+)(.*)", p)
            os.rename(p, "%s%d%s" % (m.group(1), int(m.group(2)) + 1, m.group(3)))

    def rotate(self):
        kind = self.rng.choice(["rename", "rename", "copytruncate", "rename and pack", "dated", "olddir", "olddir"])
        self.kinds[kind] += 1
        if kind in ("dated", "olddir"):
            self.n += 1
            folder, name = os.path.split(self.path)
            to = "%s/%s%s-20261121%02d" % (folder, "old/" if kind == "olddir" else "", name, self.n)
            os.rename(self.path, to)
        else:
            self.shift()
            if kind == "copytruncate":
                shutil.copy(self.path, self.path + ".1")
                os.truncate(self.path, 0)
                return
            os.rename(self.path, self.path + ".1")
        old = self.f
        self.f = open(self.path, "ab", buffering=0)
        old.close()
        if kind == "rename and pack":
            self.packed(self.path + ".1")
        elif kind == "olddir" and self.rng.random() < 0.5:
            self.packed(to)
        elif self.rng.random() < 0.3 and os.path.exists(self.path + ".2"):
            self.packed(self.path + ".2")


class Writer(threading.Thread):
    """Writes all lines to the logs at about the given pace."""

    def __init__(self, logs, lines, seconds, rng):
        super().__init__(daemon=True)
        self.logs, self.lines, self.seconds, self.rng = logs, lines, seconds, rng
        self.n_bad, self.failure = 0, None
        self.rotations = max(12, int(seconds))

    def run(self):
        try:
            self.work()
        except BaseException as e:
            self.failure = e

    def work(self):
        began, at, n = time.monotonic(), 0, len(self.lines)
        turn = sorted(self.rng.randrange(n) for _ in range(self.rotations))
        while at < n:
            k = self.rng.randrange(1, max(2, n // (int(self.seconds) * 20)))
            log = self.rng.choice(self.logs)
            part = self.lines[at:at + k]
            if self.rng.random() < 0.1:
                part = part + [self.rng.choice(JUNK)]
                self.n_bad += 1
            data = "".join(line + "\n" for line in part).encode("latin-1")
            at += k
            while data:         # in pieces: lines are torn
                cut = len(data) if self.rng.random() < 0.5 else self.rng.randrange(1, len(data) + 1)
                log.write(data[:cut])
                data = data[cut:]
                if self.rng.random() < 0.3:
                    time.sleep(self.rng.random() * 0.01)
            while turn and turn[0] <= at:
                turn.pop(0)
                log.rotate()
            ahead = at / n * self.seconds - (time.monotonic() - began)
            if ahead > 0:
                time.sleep(ahead)


def spooled(state):
    """Bytes of points that wait to be sent."""
    n = 0
    for path in glob.glob(state + "/spool/*.seg") + glob.glob(state + "/later/*.seg"):
        try:
            n += os.path.getsize(path)
        except FileNotFoundError:
            pass  # delivered meanwhile
    return n


class Collector:
    def __init__(self, folder, port, logs, form, domain, rng):
        self.rng = rng
        first = "auto" if form == "combined" else form      # the first log decides by itself; NASA's has names where it wants addresses
        self.dir, self.log, self.port = folder + "/state", folder + "/collect.log", port
        spec = ",".join("%s:%s=%s" % (form if i else first, log.path if i else log.path[:-4] + "*.log", domain) for i, log in enumerate(logs))
        self.argv = [binary(), "collect", "--server", "127.0.0.1:%d" % port, "--host", "web1", "--collect-dir", self.dir, "--only", "weblog",
                     "--collect-weblog", spec, "--collect-weblog-olddir", "old", "--collect-weblog-domains", "100000", "--collect-weblog-send-s", "1",
                     "--collect-weblog-poll-ms", "20", "--collect-weblog-rotated-s", "4", "--collect-send-delay-ms", "0",
                     "--collect-retry-max-s", "1"]
        self.proc = None
        atexit.register(lambda: self.proc and self.proc.poll() is None and self.proc.kill())

    def start(self):
        """Counts may be given up at once, buckets change their length: totals stay exact."""
        argv = [*self.argv, "--collect-weblog-late-s", self.rng.choice(["0", "2", "600"]), "--collect-weblog-bucket-s", self.rng.choice(["60", "60", "10", "300"])]
        self.proc = subprocess.Popen(argv, stderr=open(self.log, "ab"), env=ENV)

    def listens(self):
        """Does it look at SIGTERM by itself, or would the signal just end it?"""
        with open("/proc/%d/status" % self.proc.pid, encoding="ascii", errors="replace") as f:
            mask = next((int(line.split()[1], 16) for line in f if line.startswith("SigBlk")), 0)
        return bool(mask >> (signal.SIGTERM - 1) & 1)

    def stop(self, sig):
        while sig != signal.SIGKILL and self.proc.poll() is None and not self.listens():
            time.sleep(0.02)  # it has just been started
        self.proc.send_signal(sig)
        code = self.proc.wait(120)
        check(sig == signal.SIGKILL or code == 0, "tsd collect ended with %d:\n%s" % (code, open(self.log).read()[-4000:]))

    def waiting(self):
        return spooled(self.dir)


def figures(d):
    """Newest of web.log.lines by state."""
    out = {}
    p = d.run("export", "web.log.lines", "--port", str(d.port), check=False)
    for line in p.stdout.splitlines():
        _, ts, value, *tags = line.split()
        state = [t for t in tags if t.startswith("state=")][0][6:]
        out[state] = max(out.get(state, (0, 0)), (int(ts), int(float(value))))
    return {k: v[1] for k, v in out.items()}


def expected(facts, by, what):
    n = collections.Counter()
    for t, domain, status, size in facts:
        at = datetime.datetime.fromtimestamp(t, UTC)
        row = ((at.strftime("%Y-%m-%d"),) if "day" in by or "hour" in by else ()) + ((at.strftime("%H"),) if "hour" in by else ())
        row += tuple({"domain": domain, "status": status}[k] for k in by if k not in ("day", "hour"))
        n[row] += 1 if what == "web.hits" else size
    return [row + (str(k),) for row, k in sorted(n.items())]


def compare(d, facts, state, say=True):
    days = sorted(t for t, *_ in facts)
    start, end = (datetime.datetime.fromtimestamp(t, UTC).strftime("%Y/%m/%d") for t in (days[0], days[-1]))
    bad = 0
    keys = ("day", "hour", "domain", "status")
    for what in ("web.hits", "web.bytes"):
        for by in itertools.chain.from_iterable(itertools.combinations(keys, k) for k in (1, 2, 3, 4)):
            header, rows = d.query(start, end, "sum", what, "--by", ",".join(by))
            want = expected(facts, by, what)
            if rows != want:
                bad += 1
                if not say:
                    return bad
                diff = [x for x in itertools.zip_longest(rows, want) if x[0] != x[1]][:3]
                print("DIFFERENT %s, %s by %s: %d rows, expected %d; %r" % (state, what, ",".join(by), len(rows), len(want), diff))
    return bad


def settled(d, facts, done, log):
    """Wait until the collector has delivered all it counted: done() and the totals."""
    until = time.monotonic() + 300
    while not (done() and compare(d, facts, "", say=False) == 0):
        if time.monotonic() > until:
            bad = compare(d, facts, "after 300 s")
            sys.exit("weblog: not all was delivered within 300 s, or counted wrongly: %d differences, figures %r; see %s\n%s" %
                     (bad, figures(d), log, open(log).read()[-6000:]))
        time.sleep(0.2)


def one(path, kills, rng):
    folder = tempfile.mkdtemp(prefix="tsd-weblog.")
    lines, facts = zip(*lines_of(path))
    form, domain = ("common", "client") if ".tsv" in path else ("combined", "referrer")
    os.mkdir(folder + "/old")
    logs = [Log(folder + "/%s.log" % name, rng) for name in ("access", "second")]
    seconds = max(4.0, kills * 1.0)
    writer = Writer(logs, list(lines), seconds, rng)
    done = collections.Counter()
    with Daemon(workers=2, wal_sync="interval") as d:
        c = Collector(folder, d.port, logs, form, domain, rng)
        c.start()
        until = time.monotonic() + 300
        while not os.path.exists(c.dir + "/weblog.state"):  # what is rotated before it was ever seen is not followed
            check(time.monotonic() < until, "no checkpoint:\n" + open(c.log).read())
            time.sleep(0.02)
        writer.start()
        for i in range(kills):
            time.sleep(rng.random() * 1.6)
            what = rng.choice(["collector", "collector", "daemon", "both"])
            done[what] += 1
            if what != "daemon":
                c.stop(signal.SIGKILL)
            if what != "collector":
                d.kill()
            time.sleep(rng.random() ** 2 * 1.5)     # rotations happen meanwhile
            if what != "collector":
                d.start(rng.choice([1, 2]))
            if what != "daemon":
                c.start()
        writer.join(600)
        check(not writer.is_alive() and not writer.failure, "the writer: %r" % writer.failure)
        want = {"counted": len(lines), "bad": writer.n_bad}
        settled(d, facts, lambda: {k: figures(d).get(k) for k in want} == want and not c.waiting(), c.log)
        have = figures(d)
        c.stop(signal.SIGTERM)
        bad = compare(d, facts, "after the kills")
        d.restart()
        bad += compare(d, facts, "after a restart")
    rotations = sum((log.kinds for log in logs), collections.Counter())
    print("%s: %d lines, %d bad ones, %d late; %d kills (%s); rotations: %s; %s" %
          (os.path.basename(path), len(lines), writer.n_bad, have.get("late", 0), kills, ", ".join("%d %s" % (v, k) for k, v in sorted(done.items())),
           ", ".join("%d %s" % (v, k) for k, v in sorted(rotations.items())), "%d differences, kept in %s" % (bad, folder) if bad else "totals equal"))
    if not bad:
        shutil.rmtree(folder)
    return bad


def imports(path, rng):
    """Finished logs, each by itself and more than once, one of them while it grew: the same totals."""
    folder = tempfile.mkdtemp(prefix="tsd-weblog.")
    lines, facts = zip(*lines_of(path))
    cuts = sorted(rng.sample(range(len(lines)), 3))
    parts = [lines[a:b] for a, b in zip([0, *cuts], [*cuts, len(lines)])]
    names = [folder + "/access.log.%d" % i for i in range(4)]
    for name, part in zip(names, parts):
        open(name, "w", encoding="latin-1").write("".join(line + "\n" for line in part))
    grown = folder + "/access.log.3"
    whole = open(grown, "rb").read()
    open(grown, "wb").write(whole[:whole.index(b"\n", len(whole) // 2) + 1])
    subprocess.run(["gzip", names[0]], check=True)
    subprocess.run(["zstd", "-q", "--rm", names[1]], check=True)
    names = [names[0] + ".gz", names[1] + ".zst", *names[2:]]
    with Daemon(workers=2) as d:
        def load(*files):
            p = d.run("collect", "weblog-import", "--server", "127.0.0.1:%d" % d.port, "--host", "web1", "--collect-weblog-domain", "referrer",
                      "--collect-dir", folder + "/state", "--collect-weblog-domains", "100000", "--collect-weblog-cells", "1000", *files, check=False)
            check(p.returncode == (1 if folder + "/junk" in files else 0), "weblog-import ended with %d: %s" % (p.returncode, p.stderr))
            return p.stderr
        open(folder + "/junk", "w").write("junk\n" + lines[0] + "\n")
        check("/junk:1: it has no time" in load(folder + "/junk"), "no word of a bad line")
        load(*names)
        open(grown, "wb").write(whole)
        load(names[2])
        check("requests counted" in load(names[3]), "no word of what was counted")
        bad = compare(d, [*facts, facts[0]], "imported")
    print("%s: imported in four parts, %s" % (os.path.basename(path), "%d differences" % bad if bad else "totals equal"))
    shutil.rmtree(folder)
    return bad


def past_and_present(path, rng):
    """The way docs/COLLECTORS.md tells: follow what grows, then import the log with all its rotated files, as often as one likes. Each line counts once."""
    folder = tempfile.mkdtemp(prefix="tsd-weblog.")
    lines, facts = zip(*lines_of(path))
    cuts = sorted(rng.sample(range(1, len(lines)), 5))
    parts = [lines[a:b] for a, b in zip([0, *cuts], [*cuts, len(lines)])]
    log, conf, state = folder + "/access.log", folder + "/collect.conf", folder + "/state/weblog.state"

    def add(k):
        with open(log, "a", encoding="latin-1") as f:
            f.write("".join(line + "\n" for line in parts[k]))

    for k in range(4):          # three rotated ones and what the server writes to
        if k:
            os.rename(log, folder + "/access.log.%d" % (4 - k))
        add(k)
    subprocess.run(["gzip", folder + "/access.log.3"], check=True)
    subprocess.run(["zstd", "-q", "--rm", folder + "/access.log.2"], check=True)
    with Daemon(workers=2) as d:
        with open(conf, "w") as f:
            f.write("collect_server = 127.0.0.1:%d\ncollect_host = web1\ncollect_dir = %s/state\ncollect_only = weblog\ncollect_weblog = %s\n"
                    "collect_weblog_domain = referrer\ncollect_weblog_domains = 100000\ncollect_weblog_poll_ms = 20\ncollect_weblog_send_s = 1\n" %
                    (d.port, folder, log))
        collector = subprocess.Popen([binary(), "collect", "--config", conf], stderr=open(folder + "/collect.log", "ab"), env=ENV)
        atexit.register(lambda: collector.poll() is None and collector.kill())

        def wait(ok, what):
            until = time.monotonic() + 120
            while not ok():
                check(time.monotonic() < until and collector.poll() is None, what + ":\n" + open(folder + "/collect.log").read()[-4000:])
                time.sleep(0.05)

        def load():
            files = sorted(glob.glob(log + "*"))
            p = subprocess.run([binary(), "collect", "weblog-import", "--config", conf, *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
            check(p.returncode == 0, "weblog-import ended with %d: %s" % (p.returncode, p.stderr))
            return sorted(re.findall(r"access\.log\S* is left out", p.stderr))

        def counted(n):
            return figures(d).get("counted", 0) >= n and not spooled(folder + "/state")

        wait(lambda: os.path.exists(state), "no checkpoint")
        check(load() == ["access.log is left out"], "the log that is followed is not left out")
        add(4)
        wait(lambda: counted(len(parts[3]) + len(parts[4])), "not all was counted")
        for k in (3, 2, 1):     # a rotation, after which all names stand for other files
            for end in ("", ".gz", ".zst"):
                if os.path.exists(log + ".%d%s" % (k, end)):
                    os.rename(log + ".%d%s" % (k, end), log + ".%d%s" % (k + 1, end))
        os.rename(log, log + ".1")
        add(5)
        check(load() == ["access.log is left out", "access.log.1 is left out"], "what was followed is not left out")
        settled(d, facts, lambda: counted(sum(map(len, parts[3:]))), folder + "/collect.log")
        collector.terminate()
        check(collector.wait(120) == 0, "tsd collect did not end well:\n" + open(folder + "/collect.log").read()[-4000:])
        bad = compare(d, facts, "imported and followed")
    print("%s: the past imported, the present followed, %s" % (os.path.basename(path), "%d differences, kept in %s" % (bad, folder) if bad else "totals equal"))
    if not bad:
        shutil.rmtree(folder)
    return bad


def import_first(path, rng):
    """The other way round: import while the server writes, killed now and then, and follow then; and import while the collector starts and works. Each line
    counts once, whoever is how fast."""
    folder = tempfile.mkdtemp(prefix="tsd-weblog.")
    lines, facts = zip(*lines_of(path))
    cuts = sorted(rng.sample(range(1, len(lines)), 5))
    parts = [lines[a:b] for a, b in zip([0, *cuts], [*cuts, len(lines)])]
    log, conf = folder + "/access.log", folder + "/collect.conf"
    with Daemon(workers=2) as d:
        with open(conf, "w") as f:
            f.write("collect_server = 127.0.0.1:%d\ncollect_host = web1\ncollect_dir = %s/state\ncollect_only = weblog\n"
                    "collect_weblog_domain = referrer\ncollect_weblog_domains = 100000\ncollect_weblog_poll_ms = 20\ncollect_weblog_send_s = 1\n" % (d.port, folder))

        def add(k, whole=True):
            """Write a part; if not whole, but for its last bytes."""
            data = "".join(line + "\n" for line in parts[k]).encode("latin-1")
            cut = len(data) if whole else len(data) - rng.randrange(1, len(parts[k][-1]))
            with open(log, "ab") as f:
                f.write(data[:cut])
            return data[cut:]

        def end(rest):
            with open(log, "ab") as f:
                f.write(rest)

        def load(*more, killed=False):
            files = sorted(glob.glob(log + "*"))
            p = subprocess.Popen([binary(), "collect", "weblog-import", "--config", conf, *more, *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
            if killed:
                time.sleep(rng.random() * 0.1)
                p.kill()
                p.wait()
                return ""
            err = p.communicate()[1]
            check(p.returncode == 0, "weblog-import ended with %d: %s" % (p.returncode, err))
            return err

        add(0)
        os.rename(log, log + ".1")
        rest = add(1, whole=False)
        load(killed=True)
        check("has no end yet" in load(), "no word of a line without an end")
        end(rest)
        rest = add(2, whole=False)
        load(killed=True)               # the parts of these are fixed now, or will be by the next
        load()
        end(rest)
        os.rename(log, log + ".2")      # what came since is in a rotated file
        add(3)
        collector = subprocess.Popen([binary(), "collect", "--config", conf, "--collect-weblog", log], stderr=open(folder + "/collect.log", "ab"), env=ENV)
        atexit.register(lambda: collector.poll() is None and collector.kill())
        load(killed=True)               # at the same time: whoever comes second leaves to the other what it took
        rest = add(4, whole=False)
        load()
        end(rest)
        add(5)
        settled(d, facts, lambda: not spooled(folder + "/state"), folder + "/collect.log")
        load("--collect-weblog", log)
        collector.terminate()
        check(collector.wait(120) == 0, "tsd collect did not end well:\n" + open(folder + "/collect.log").read()[-4000:])
        bad = compare(d, facts, "imported first and followed then")
    print("%s: imported first, followed then, %s" % (os.path.basename(path), "%d differences, kept in %s" % (bad, folder) if bad else "totals equal"))
    if not bad:
        shutil.rmtree(folder)
    return bad


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--kills", type=int, default=6)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--beside", type=int, metavar="N", help="only import beside a collector that starts, N times")
    ap.add_argument("logs", nargs="*")
    a = ap.parse_args()
    rng = random.Random(a.seed)
    print("seed %d" % a.seed, flush=True)
    logs = a.logs or [ROOT + "/tests/data/weblog-apache.log.zst"]
    if a.beside:
        return 1 if sum(import_first(p, rng) for p in logs for _ in range(a.beside)) else 0
    bad = sum(imports(p, rng) + past_and_present(p, rng) + import_first(p, rng) for p in logs if ".tsv" not in p)
    return 1 if bad + sum(one(p, a.kills, rng) for p in logs) else 0


if __name__ == "__main__":
    sys.exit(main())
