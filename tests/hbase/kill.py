#!/usr/bin/env python3
"""A load into a daemon with HBase behind it, during which processes are killed (kill -9) again and again and the way to HBase fails. Afterwards HBase
must have what was acknowledged, and nothing else.

    kill.py --fake [--kind KIND] [--rounds N] [--points N] [--seed N]     over the HBase in memory (fake_hbase_server beside $TSD)
    kill.py --own [--kind KIND] ...                                       over a real HBase, started by hbase.sh and stopped at the end
    TSD_HBASE_GATEWAY=HOST:PORT kill.py ...                               over any; tables are made with a prefix of their own

Kinds of faults, in each round while the load runs:
    tsd         the daemon is killed at the end of each round, and the gateway fails in all ways of relay.py before
    hang        the gateway does not answer for a while
    drop        connections are refused, break off in requests and in answers, and answers are lost
    late        the gateway answers late
    exception   it answers exceptions
    gateway     the gateway is killed and started again (--own)
    hbase       HBase is killed and started again (--own). An HBase that cannot sync loses puts that it has acknowledged: at the end rows are removed
                from its table, which `tsd hbase reship` sends again
    mixed       all of these (--own)

The daemon is killed at any time: during the load, while the backlog is being sent, and while shipments are not answered, which the relay then holds and throws away, so
that what the daemon believed to be sent is lost. Between two lives of the kind `tsd` drop_shipped removes what the marks of the daemon say is in HBase, so that
nothing can be sent again that is not known to be missing.

Checked when the load is over and everything was shipped: the table of HBase, read without tsd, has for each series the last acknowledged value of each time or
one sent later, no other time, and no two values of one time; the daemon of the load and one with an empty folder answer the same. Exit 0: all held, as the last line says.
"""
import argparse
import http.client
import os
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import kill_check  # noqa: E402
from kill_load import HOUR, Http, Lines, Loaded  # noqa: E402
from relay import Relay  # noqa: E402
from thrift2 import Failed, Gateway  # noqa: E402
from tsdtest import Daemon, binary, free_port, until  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
# How the relay fails, which processes of HBase are killed, and whether the daemon is killed
KINDS = {"tsd": (Relay.FAULTS, (), True),
         "hang": (("hang", "mute"), (), False),
         "drop": (("refuse", "break", "lose", "cut", "drop"), (), False),
         "late": (("late",), (), False),
         "exception": (("exception", "denied"), (), False),
         "gateway": ((), ("thrift",), False),
         "hbase": ((), ("hbase",), False),
         "mixed": (Relay.FAULTS, ("thrift", "hbase"), True)}


def hbase_sh(*args):
    subprocess.run([HERE + "/hbase.sh", *args], check=True, stdout=subprocess.DEVNULL)


def answers(host, port, table):
    """Does HBase answer?"""
    try:
        g = Gateway(host, port, 10)
        g.scan(table, 1)
        g.close()
        return True
    except (OSError, EOFError, Failed):
        return False


class Faults(threading.Thread):
    """Lets the way to HBase fail in turn with working; and the daemon writes files, so that marks can cover what was sent."""

    def __init__(self, test, seed):
        super().__init__(daemon=True)
        self.test, self.rng, self.over, self.n = test, random.Random(seed), threading.Event(), 0
        self.modes, self.processes, _ = KINDS[test.kind]

    def run(self):
        calm_s = self.rng.choice([0.5, 2, 5])
        while not self.over.wait(self.rng.random() ** 2 * calm_s):
            if self.rng.random() < 0.4:
                self.flush()
            if self.processes and (not self.modes or self.rng.random() < 0.15):
                self.kill(self.rng.choice(self.processes))
            else:
                self.test.relay.set(self.rng.choice(self.modes))
                self.over.wait(self.rng.random() ** 2 * 2 * self.test.timeout_ms / 1000)
                self.test.relay.set("pass")
            self.n += 1

    def kill(self, name):
        """Kill a process of HBase, start it again, and let it come back."""
        hbase_sh("kill", name)
        self.over.wait(self.rng.random() * 3)
        hbase_sh("again", name)
        self.test.wait_up()
        self.over.wait(self.rng.random() * 10)

    def flush(self):
        try:
            self.test.d.flush("files")
        except (OSError, http.client.HTTPException):
            pass        # it was killed, or has too much to do

    def end(self, mode="pass"):
        """End with the relay in a mode; it may be called again."""
        self.over.set()
        self.join()
        self.test.relay.set(mode)


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

    until("everything in HBase", nothing_left, 3600)


class Test:
    """One run: a daemon, a relay to HBase, streams of points. The random numbers decide all that is not time."""

    def __init__(self, a, host, port):
        self.a, self.kind, self.host, self.port, self.rng = a, a.kind, host, port, random.Random(a.seed)
        g = Gateway(host, port)
        self.tables = g.create_opentsdb("tsd_kill_%d_%d_" % (os.getpid(), a.seed))
        g.close()
        self.keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), self.tables)}
        # queries of the comparison may take long beside everything else
        self.keys.update(remote="hbase", query_timeout_ms=3600000, hbase_salt_width=self.rng.choice([0, 1]), hbase_salt_buckets=4)
        self.relay = Relay(host, port, a.seed, 0.05 if a.points <= 1000000 else 0.01)
        now = int(time.time() * 1000) // HOUR * HOUR
        long = (a.points // 10 * 10 + 3600) * 1000 // HOUR * HOUR    # the first stream's series end before now, the second one's after it
        self.streams = [Lines(1, now - 300 * HOUR - long, 0.6), Lines(2, now - HOUR, 0.2), Http(3, now - 100 * HOUR - 7000 - long, 0.2)]
        self.timeout_ms = 4000 if a.own else 1500    # a real HBase is slow beside everything else
        self.loses = "hbase" in KINDS[a.kind][1]    # puts that HBase has acknowledged
        keep = 8760 * 10 if self.loses else self.rng.choice([1, 8760])
        self.d = Loaded(workers=2, memstore_bytes="1M" if a.points <= 1000000 else "8M", hbase_gateways="127.0.0.1:%d" % self.relay.port, hbase_timeout_ms=self.timeout_ms,
                        hbase_connect_timeout_ms=500, hbase_keep_local_h=keep, hbase_compact=self.rng.choice(["true", "true", "false"]), **self.keys)
        self.n_faults = 0

    def wait_up(self):
        until("HBase is up", lambda: answers(self.host, self.port, self.tables[0]) or time.sleep(0.5), 1200)

    # --- rounds ---
    def begin(self):
        """Start the daemon if it does not run, the clients and the faults."""
        if not self.d.proc:
            self.d.keys.update(wal_sync=self.rng.choice(["always", "interval", "none"]), hbase_ship=self.rng.choice(["at_once", 1, 2]))
            self.d.start(self.rng.choice([1, 2, 3]))
        for st in self.streams:
            st.begin(self.d, self.rng.random(), self.a.points // self.a.rounds)
            st.start()
        faults = Faults(self, self.rng.random())
        faults.start()
        return faults

    def end_streams(self, seconds, may_break):
        for st in self.streams:
            st.join(seconds)
            problem = st.problem or (not may_break and st.breaks) or (st.is_alive() and "the client hangs")
            if problem:
                self.fail("%s conn=%d: %s" % (st.metric(), st.number, problem))

    def fail(self, text):
        print("FAILED kind %s seed %d: %s; data kept in %s" % (self.kind, self.a.seed, text, self.d.data), flush=True)
        self.d.kill()
        if self.a.own:
            hbase_sh("stop")
        os._exit(1)

    def wait_for_moment(self, faults):
        """Wait until the daemon is to be killed. How, as text."""
        rng, d = self.rng, self.d
        how = rng.choice(["during the load", "while it sends the backlog", "while nothing is answered", "while nothing is answered"])
        part = 0 if rng.random() < 0.3 else rng.random()
        for st in self.streams:
            st.join(rng.random() * max(1, self.a.points / self.a.rounds / 100000) if how == "during the load" or rng.random() < 0.3 else 3600)
        if how == "during the load":
            return how
        if rng.random() < 0.7:
            faults.end()
        end = time.monotonic() + 20
        while (now := stats(d))["tsd.hbase.shipped_points"] < part * now["tsd.storage.points.applied"] and time.monotonic() < end:
            time.sleep(0.02)
        if rng.random() < 0.5:      # a pass or more that sets marks
            faults.end()
            d.flush("files")
            time.sleep(rng.random() * 3)
        if how == "while nothing is answered":
            faults.end(rng.choice(["hang", "drop", "mute", "denied"]))
            d.flush("files")
        time.sleep(rng.random() * 3)
        return how

    def drop_shipped(self):
        """Remove the files of the daemon, which does not run, that its marks cover; what was done, as text."""
        p = subprocess.run([os.path.join(os.path.dirname(binary()), "tests", "drop_shipped"), self.d.data], check=True, stdout=subprocess.PIPE, text=True)
        return ", then " + p.stdout.strip()

    def killed_round(self):
        """Load, faults, and a kill of the daemon. What was done, as text; and the statistics before it."""
        faults = self.begin()
        how = self.wait_for_moment(faults)
        shipped, n_held = stats(self.d), self.relay.n_held
        self.d.kill()
        faults.end("drop" if self.rng.random() < 0.7 else "pass")
        self.end_streams(120, True)
        self.relay.set("pass")
        self.n_faults += faults.n + 1
        dropped = self.drop_shipped() if not self.loses and self.rng.random() < 0.6 else ""
        return "killed %s (the relay held %d reads)%s" % (how, n_held, dropped), shipped

    def faulty_round(self):
        """Load and faults. What was done, as text; and the statistics at the end."""
        faults, before = self.begin(), stats(self.d)["tsd.hbase.shipped_points"]
        self.end_streams(7200, False)
        until("a fault", lambda: faults.n or time.sleep(0.1), 600)
        faults.end()
        if faults.processes:
            self.wait_up()
        # passes that failed are repeated after a minute at most: faults of the next round shall meet shipments, too
        until("something shipped after the faults", lambda: stats(self.d)["tsd.hbase.shipped_points"] > before or time.sleep(0.2), 600)
        self.n_faults += faults.n
        return "%d faults" % faults.n + "".join(", %d times '%s'" % (n, text) for text, n in self.d.throttled.items()), stats(self.d)

    def load(self):
        for i in range(1, self.a.rounds + 1):
            began = time.monotonic()
            did, now = self.killed_round() if KINDS[self.kind][2] else self.faulty_round()
            print("round %d of %d, %d s, %s: %d points sent, %d confirmed; of this life %d points shipped, %d calls repeated, %d not answered in time, %d answered with an exception, %d passes failed" %
                  (i, self.a.rounds, time.monotonic() - began, did, sum(st.n_sent for st in self.streams), sum(st.n_confirmed for st in self.streams),
                   *(now["tsd." + k] for k in ("hbase.shipped_points", "hbase.call_repeats", "hbase.call_timeouts", "hbase.call_exceptions", "storage.ship.errors"))),
                  flush=True)

    # --- the end ---
    def reship(self):
        hours = [st.base_ms // HOUR * 3600 for st in self.streams]
        ends = [st.time(s, len(st.last[s])) // 1000 + 3600 for st in self.streams for s in range(len(st.last))]
        self.d.run("hbase", "reship", "--from", str(min(hours)), "--to", str(max(ends)), "--port", str(self.d.port))

    def lose(self):
        """Remove rows of points at random, as an HBase that could not sync does."""
        g = Gateway(self.host, self.port)
        lost = [row for row, _ in g.rows(self.tables[0]) if self.rng.random() < 0.05]
        for i in range(0, len(lost), 1000):
            g.delete(self.tables[0], lost[i:i + 1000])
        g.close()
        print("%d rows of HBase were lost" % len(lost), flush=True)

    def settle(self):
        """Everything that was accepted is in HBase."""
        self.relay.pause = 0
        if not self.d.proc:
            self.d.keys["hbase_ship"] = "at_once"
            self.d.start(2)
        caught_up(self.d)
        refused = stats(self.d)["tsd.storage.ship.held_hours"]    # exceptions that looked like refusals for good
        if self.loses:
            self.lose()
        if self.loses or refused:
            self.reship()
            caught_up(self.d)
        if stats(self.d)["tsd.storage.ship.held_hours"]:
            self.fail("rows are refused")

    def check(self):
        g = Gateway(self.host, self.port)
        bad, n_rows, n_cells, n_points = kill_check.table(g, self.tables, self.keys["hbase_salt_width"], self.streams)
        with Daemon(workers=2, hbase_gateways="%s:%d" % (self.host, self.port), **self.keys) as empty:
            more, n = kill_check.answers(self.d, empty, self.streams)
        bad += more
        if n != n_points:
            bad.append("%d points in the answers, %d in the table" % (n, n_points))
        if bad:
            for text in bad[:20]:
                print("DIFFERENT: " + text)
            self.fail("%d differences" % len(bad))
        self.d.stop()
        g.close()
        return "%d points in %d rows, %d cells" % (n, n_rows, n_cells)

    def run(self):
        try:
            self.work()
        finally:
            self.d.kill()       # unless all went well, when it has ended before

    def work(self):
        began = time.monotonic()
        print("kind %s, seed %d, %d rounds, %d points" % (self.kind, self.a.seed, self.a.rounds, self.a.points), flush=True)
        self.load()
        loaded = time.monotonic()
        self.settle()
        settled = time.monotonic()
        there = self.check()
        g = Gateway(self.host, self.port)
        g.drop_all(self.tables)
        print("passed: kind %s, seed %d, %d rounds, %d faults, %d points sent, %d confirmed, %s: nothing confirmed is missing, nothing invented, no time has two values; "
              "%d s, then %d s until all was in HBase, %d s to compare" %
              (self.kind, self.a.seed, self.a.rounds, self.n_faults, sum(st.n_sent for st in self.streams), sum(st.n_confirmed for st in self.streams), there,
               loaded - began, settled - loaded, time.monotonic() - settled), flush=True)


def arguments():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("--kind", choices=KINDS, default="tsd")
    ap.add_argument("--rounds", type=int, default=10)
    ap.add_argument("--points", type=int, default=1000000, help="sent in all rounds, at most")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--fake", action="store_true")
    ap.add_argument("--own", action="store_true")
    return ap.parse_args()


def main():
    a = arguments()
    if KINDS[a.kind][1] and not a.own:
        sys.exit("kill.py: only processes of an HBase of its own are killed: --own")
    if a.fake:
        server = os.path.join(os.path.dirname(binary()), "tests", "fake_hbase_server")
        os.execv(server, [server, sys.executable, os.path.abspath(__file__), *[x for x in sys.argv[1:] if x != "--fake"]])
    if not a.own:
        host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
        Test(a, host, int(port)).run()
        return 0
    port = int(os.environ.setdefault("HBASE_THRIFT_PORT", str(free_port())))
    os.environ.setdefault("HBASE_SESSION_MS", "60000")
    try:
        hbase_sh("start")
        Test(a, "127.0.0.1", port).run()
    finally:
        hbase_sh("stop")
    return 0


if __name__ == "__main__":
    sys.exit(main())
