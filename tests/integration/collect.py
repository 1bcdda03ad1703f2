#!/usr/bin/env python3
"""`tsd collect` against real daemons: what /proc says comes back, nothing is lost while the daemon or the collector is away, a spool that
is too small drops its oldest part and says so, `tsd serve --collect`, docs/COLLECTORS.md lists what the program lists."""
import atexit
import csv
import glob
import io
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

import tsdtest
from tsdtest import Daemon, ROOT, binary

TMP = tempfile.TemporaryDirectory(prefix="tsd-collect.")
ENV = {k: v for k, v in os.environ.items() if not k.startswith("TSD_")}


def check(ok, what):
    if not ok:
        sys.exit("collect: " + what)


def wait_for(what, test, seconds=120):
    until = time.monotonic() + seconds
    while not test():
        check(time.monotonic() < until, "not within %d s: %s" % (seconds, what))
        time.sleep(0.05)


class Collector:
    """A running `tsd collect` with a folder of its own."""

    def __init__(self, name, port, *options):
        self.dir = TMP.name + "/" + name
        self.log = self.dir + ".log"
        self.argv = [binary(), "collect", "--server", "127.0.0.1:%d" % port, "--host", "testhost", "--collect-dir", self.dir,
                     "--collect-interval-s", "1", "--collect-send-delay-ms", "0", "--collect-retry-max-s", "1", *options]
        self.proc = None

    def start(self, **how):
        self.proc = subprocess.Popen(self.argv, stderr=open(self.log, "ab"), env=ENV, **how)
        atexit.register(self.proc.kill)  # after a failure it would keep the output of the test open, for which ctest waits
        return self

    def stop(self, sig=signal.SIGTERM):
        self.proc.send_signal(sig)
        code = self.proc.wait(120)
        check(sig == signal.SIGKILL or code == 0, "tsd collect ended with %d:\n%s" % (code, open(self.log).read()))

    def waiting(self):
        """The lines in the spool."""
        lines = []
        for name in sorted(glob.glob(self.dir + "/spool/*.seg"), key=lambda p: int(re.search(r"(\d+)\.seg", p).group(1))):
            try:
                lines += [line for line in open(name).read().split("\n")[:-1] if line.startswith("put ")]
            except FileNotFoundError:
                pass  # delivered meanwhile
        return lines


def stored(d, metric):
    """All points of a metric: {(tags as text, seconds): value}."""
    out = {}
    p = d.run("export", metric, "--port", str(d.port), check=False)
    check(p.returncode == 0 or "no such metric" in p.stderr, p.stderr)
    for line in p.stdout.splitlines():
        name, ts, value, *tags = line.split()
        if ts.endswith("000") and len(ts) > 11:
            ts = ts[:-3]
        out[(" ".join(sorted(tags)), ts)] = value
    return out


def points(lines):
    for line in lines:
        _, metric, ts, value, *tags = line.split(" ")
        yield metric, ts, value, " ".join(sorted(tags))


def documents():
    """The table of docs/COLLECTORS.md is what --list says."""
    rows = csv.DictReader(io.StringIO(subprocess.run([binary(), "collect", "--list", "--format", "csv"], stdout=subprocess.PIPE,
                                                     text=True, check=True, env=ENV).stdout))
    want = ["| %s | %s | `%s` | %s | %s | %s | %s |" % (r["collector"], r["interval_s"] + " s" if int(r["interval_s"]) else "-",
                                                      r["metric"], r["tags"], r["unit"], r["kind"][0].upper(), r["help"]) for r in rows]
    text = open(ROOT + "/docs/COLLECTORS.md").read()
    have = [line for line in text.splitlines() if re.match(r"\| \w+ \| (\d+ s|-) \| `", line)]
    for line in want:
        check(line in have, "docs/COLLECTORS.md lacks the row\n" + line)
    for line in have:
        check(line in want, "docs/COLLECTORS.md has a row that `tsd collect --list` has not\n" + line)
    check(len(want) > 100, "only %d metrics" % len(want))


def proc_value(path, pattern):
    return int(re.search(pattern, open(path).read(), re.M).group(1))


def once_is_what_proc_says(d):
    before = {"proc.stat.ctxt": proc_value("/proc/stat", r"^ctxt (\d+)"), "proc.vmstat.pgfault": proc_value("/proc/vmstat", r"^pgfault (\d+)"),
              "proc.stat.processes": proc_value("/proc/stat", r"^processes (\d+)")}
    lo = [int(x) for x in re.search(r"^\s*lo:(.*)$", open("/proc/net/dev").read(), re.M).group(1).split()]
    text = subprocess.run([binary(), "collect", "--once", "--format", "text", "--host", "h1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=True, env=ENV).stdout
    got = {}
    for metric, ts, value, tags in points(text.splitlines()):
        check("host=h1" in tags.split(), "no host: " + tags)
        check(abs(int(ts) - time.time()) < 300, "time of %s: %s" % (metric, ts))
        check((metric, tags) not in got, "twice: %s %s" % (metric, tags))
        got[metric, tags] = float(value)
    for metric, low in before.items():
        high = {"proc.stat.ctxt": ("/proc/stat", r"^ctxt (\d+)"), "proc.vmstat.pgfault": ("/proc/vmstat", r"^pgfault (\d+)"),
                "proc.stat.processes": ("/proc/stat", r"^processes (\d+)")}[metric]
        check(low <= got[metric, "host=h1"] <= proc_value(*high), metric)
    check(got["proc.meminfo.memtotal", "host=h1"] == 1024 * proc_value("/proc/meminfo", r"^MemTotal:\s*(\d+)"), "memtotal")
    check(got["proc.net.bytes", "direction=in host=h1 iface=lo"] >= lo[0], "bytes of lo")
    st = os.statvfs("/")
    root = [v for (m, t), v in got.items() if m == "df.bytes.total" and "mount=/" in t.split()]
    check(root in ([], [float(st.f_blocks * st.f_frsize)]), "df of / is %s, not %d" % (root, st.f_blocks * st.f_frsize))
    cpus = {t for (m, t) in got if m == "proc.stat.cpu.percpu" and "type=idle" in t}
    check(len(cpus) == len(re.findall(r"^cpu\d", open("/proc/stat").read(), re.M)), "cores: %s" % cpus)
    listed = subprocess.run([binary(), "collect", "--list", "--format", "csv"], stdout=subprocess.PIPE, text=True, check=True, env=ENV).stdout
    table = subprocess.run([binary(), "collect", "--list", "--format", "markdown"], stdout=subprocess.PIPE, text=True, check=True, env=ENV).stdout.splitlines()
    check(len(table) == len(listed.splitlines()) + 1, "--list as Markdown has not the rows of CSV and a rule")
    check(all(re.sub(r"\\.", "", row).count("|") == 8 for row in table), "a row of Markdown has not 7 columns")
    names = {r["metric"] for r in csv.DictReader(io.StringIO(listed))}
    for metric, _ in got:
        check(metric in names or any(n.endswith("*") and n != "*" and metric.startswith(n[:-1]) for n in names), "not listed: " + metric)
    # the same into a daemon
    p = subprocess.run([binary(), "collect", "--once", "--server", "127.0.0.1:%d" % d.port, "--host", "h2", "--collect-dir", TMP.name + "/once",
                        "--only", "load,memory", "--collect-tags", "dc=fra"], stderr=subprocess.PIPE, text=True, env=ENV)
    check(p.returncode == 0, "--once: " + p.stderr)
    mem = stored(d, "proc.meminfo.memtotal")
    check([v for (t, _), v in mem.items() if t == "dc=fra host=h2"] == [str(1024 * proc_value("/proc/meminfo", r"^MemTotal:\s*(\d+)"))], str(mem))
    p = subprocess.run([binary(), "collect", "--once", "--server", "127.0.0.1:%d" % tsdtest.free_port(), "--collect-dir", TMP.name + "/once",
                        "--only", "load"], stderr=subprocess.PIPE, text=True, env=ENV)
    check(p.returncode == 1 and "5 points could not be delivered" in p.stderr, "nobody there: %d %s" % (p.returncode, p.stderr))


def away_and_back(d):
    """The daemon is killed and comes back, then the collector is killed while the daemon is away: every point that was spooled arrives."""
    c = Collector("away", d.port).start()
    wait_for("first points", lambda: stored(d, "proc.loadavg.1min"))
    d.kill()
    wait_for("points in the spool", lambda: len({ts for m, ts, _, _ in points(c.waiting()) if m == "proc.loadavg.1min"}) >= 3)
    d.start()
    wait_for("an empty spool", lambda: not c.waiting())
    d.kill()
    wait_for("points in the spool", lambda: len({ts for m, ts, _, _ in points(c.waiting()) if m == "proc.loadavg.1min"}) >= 2)
    c.stop(signal.SIGKILL)
    truth = list(points(c.waiting()))
    check(len(truth) > 200, "only %d points in the spool" % len(truth))
    d.start()
    again = int(time.time())  # what is read a second time within this second replaces what was read before
    c.start()
    wait_for("the spool to be delivered", lambda: not {t for t in points(c.waiting())} & set(truth[:1] + truth[-1:]))
    wait_for("own figures", lambda: stored(d, "tsd.collect.reads"))
    c.stop()
    check(not c.waiting(), "points wait after an orderly stop")
    have = {}
    for metric in {t[0] for t in truth}:
        have[metric] = stored(d, metric)
    for metric, ts, value, tags in truth:
        if int(ts) >= again:
            continue
        got = have[metric].get((tags, ts))
        check(got is not None and float(got) == float(value), "lost or changed: %s %s %s %s, stored: %s" % (metric, ts, value, tags, got))
    # what the first process counted before it was killed is there as well: as many points as reads
    reads = stored(d, "tsd.collect.reads")
    seconds = {int(ts) for t, ts in stored(d, "proc.loadavg.1min")}
    counts = sorted((int(ts), int(float(v))) for (t, ts), v in reads.items() if "collector=load" in t and "result=ok" in t)
    first = [x for i, x in enumerate(counts) if all(x[1] >= y[1] for y in counts[:i])][-1]
    check(len([s for s in seconds if s <= first[0]]) >= first[1], "%d reads but points at %s" % (first[1], sorted(seconds)))


def tiny_spool(d):
    """64 KiB, and the daemon away: the oldest points go, are counted and logged, the newest stay."""
    d.kill()
    c = Collector("tiny", d.port, "--collect-spool-bytes", "64k").start()
    wait_for("a dropped segment", lambda: "spool full: dropped the oldest segment" in open(c.log).read())
    line = re.search(r"n_points=(\d+) n_points_in_all=(\d+) max_bytes=65536", open(c.log).read())
    check(line and 10 < int(line.group(1)) < 400, open(c.log).read())
    check(sum(len(x) + 1 for x in c.waiting()) <= 65536, "the spool is larger than its limit")
    check(len(c.waiting()) > 200, "only %d points are left" % len(c.waiting()))
    d.start()

    def dropped():
        return max([int(v) for (t, _), v in stored(d, "tsd.collect.points").items() if "state=dropped" in t], default=0)
    wait_for("the count of dropped points", lambda: dropped() >= int(line.group(1)))
    c.stop()


def refused_at_present():
    """A daemon that takes no new series, and one that only reads: no point is lost, known series go on."""
    with Daemon(workers=1) as d:
        c = Collector("first", d.port, "--only", "load").start()
        wait_for("points of the known series", lambda: stored(d, "proc.loadavg.1min"))
        c.stop()
        d.stop()
        d.keys = {"max_series": 5}
        d.start()
        c.argv[c.argv.index("--only") + 1] = "load,memory"
        c.start()
        n = len(stored(d, "proc.loadavg.1min"))
        wait_for("points of the known series beside new ones", lambda: len(stored(d, "proc.loadavg.1min")) >= n + 3)
        check(not stored(d, "proc.meminfo.memtotal"), "max_series is not kept")
        c.stop()
        d.stop()
        d.keys = {"mode": "ro"}
        d.start()
        c.start()
        wait_for("a refusal", lambda: "read-only" in open(c.log).read())
        wait_for("points in the spool", lambda: len({ts for m, ts, _, _ in points(c.waiting()) if m == "proc.loadavg.1min"}) >= 3)
        c.stop()
        waiting = {(ts, float(value)) for m, ts, value, _ in points(c.waiting()) if m == "proc.loadavg.1min"}
        d.stop()
        d.keys = {}
        d.start()
        again = int(time.time())  # what is read a second time within this second replaces what was read before
        c.start()
        wait_for("what was put aside", lambda: len(stored(d, "proc.meminfo.memtotal")) >= 4)
        c.stop()
        check("refused" not in open(c.log).read(), open(c.log).read())
        have = {(ts, float(v)) for (_, ts), v in stored(d, "proc.loadavg.1min").items()}
        missing = {(ts, v) for ts, v in waiting if int(ts) < again} - have
        check(len({ts for ts, _ in waiting if int(ts) < again}) >= 2, "all was measured in one second: %r" % waiting)
        check(not missing, "points measured while the daemon only read are missing: %r; stored: %r; started again at %d" %
              (missing, sorted(have)[-20:], again))


def few_files():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.prlimit(0, resource.RLIMIT_NOFILE, (64, hard))
    try:
        return subprocess.Popen([binary(), "collect", "--collect-dir", "none", "--only", "load", "--format", "text"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV)
    finally:
        resource.prlimit(0, resource.RLIMIT_NOFILE, (hard, hard))


def open_files():
    """The soft limit of open files is raised: each followed log takes one. The unit has a high one, and both units read one file."""
    p = few_files()
    p.stdout.readline()
    soft, hard = re.search(r"^Max open files\s+(\d+)\s+(\d+)", open("/proc/%d/limits" % p.pid).read(), re.M).groups()
    p.terminate()
    p.wait(120)
    check(soft == hard, "%s open files of %s" % (soft, hard))
    for unit in ("tsd", "tsd-collect"):
        text = open("%s/dist/%s.service" % (ROOT, unit)).read()
        check("LimitNOFILE=1048576" in text and "--config /etc/tsd.conf" in text, unit + ".service")
    both = TMP.name + "/both.conf"
    subprocess.run(["cmake", "-DTSD=" + binary(), "-DHEAD=" + ROOT + "/dist/tsd.conf.in", "-DOUT=" + both, "-P", ROOT + "/dist/conf.cmake"], check=True)
    with open(both) as f:
        text = re.sub(r"^#(?=[a-z_]+ =)", "", f.read(), flags=re.M).replace("collect_server = 127.0.0.1\n", "collect_server = tsd.example.org:4242\n")
    with open(both, "w") as out:
        out.write(text)
    for command in ("serve", "collect"):
        p = subprocess.run([binary(), command, "--config", both, "--print-config"], stdout=subprocess.PIPE, text=True, env=ENV, check=False)
        check(p.returncode == 0 and "\ncollect_server = tsd.example.org:4242\n" in p.stdout, "%s: %d" % (command, p.returncode))


def inside_the_daemon():
    with Daemon(workers=1, collect="true", collect_interval_s=1, collect_host="inner", collect_skip="process", collect_send_delay_ms=0) as d:
        wait_for("points of serve --collect", lambda: len(stored(d, "proc.loadavg.1min")) >= 2)
        check(all("host=inner" in t for t, _ in stored(d, "proc.loadavg.1min")), "host")
        d.restart()
        wait_for("points after a restart", lambda: len(stored(d, "proc.loadavg.1min")) >= 3)


def mistakes():
    p = subprocess.run([binary(), "collect", "--port", "4300", "--print-config"], stdout=subprocess.PIPE, text=True, env=ENV, check=True)
    check("\ncollect_server = 127.0.0.1:4300\n" in p.stdout, "--port")
    for args, what in ((["--only", "cpux"], 'there is no collector "cpux"'), (["--server", "::1"], "is no HOST:PORT"),
                       (["--collect-tags", "a=b c"], "collect_tags"), (["--format", "json"], "--format is text"), (["x"], "is not one of weblog-import"),
                       (["--collect-dir", "/proc/nowhere"], "collect_dir"), (["--port", "1", "--server", "h"], "--port is for the daemon on this"),
                       (["--port", "x"], "is no HOST:PORT"), (["--collect-commands", "date"], "collect_commands"),
                       (["--collect-weblog", "/x", "--collect-weblog-bucket-s", "7"], "collect_weblog_bucket_s"),
                       (["--collect-weblog", "x:/x"], "collect_weblog")):
        p = subprocess.run([binary(), "collect", "--collect-dir", "none", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=300, env=ENV)
        check(p.returncode in (1, 2) and what in p.stderr, "%s: %d %s" % (args, p.returncode, p.stderr))


def main():
    documents()
    mistakes()
    with Daemon(workers=1) as d:
        once_is_what_proc_says(d)
        away_and_back(d)
        tiny_spool(d)
    open_files()
    refused_at_present()
    inside_the_daemon()
    print("collect: fine")


if __name__ == "__main__":
    main()
