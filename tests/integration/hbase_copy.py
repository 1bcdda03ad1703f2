#!/usr/bin/env python3
"""tsd copy: a folder into the tables of a gateway (TSD_HBASE_GATEWAY=HOST:PORT, of a real HBase or the fake one), and back into another folder. All points and
annotations arrive; a copy that was killed or lost HBase goes on; differences, histograms and other copies are reported. Tables are made with a prefix of their own."""
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from hbase import Relay, put_cell
from metakit import check, end, holds
from thrift2 import Gateway

PREFIX = "tsd_copy_%d_" % os.getpid()
T0 = 1357002000  # a full hour
N_METRICS = 6


class SlowRelay(Relay):
    """Each piece that the gateway sends takes a while, so that a copy can be interrupted in its middle."""

    pause_s = 0.0
    n_pieces = 0

    def passed(self, data):
        self.n_pieces += 1
        time.sleep(self.pause_s)


def lines():
    """Points of a year: long gaps, several series, integers, decimals and milliseconds."""
    for m in range(N_METRICS):
        for host in ("a", "b"):
            for day in (0, 1, 40, 300):
                for i in range(30):
                    t = T0 + day * 86400 + i * 60
                    value = ("%d" % (i - 5), "%d.25" % i, "%de3" % i)[i % 3]
                    yield "cp.m%02d %s %s host=%s dc=x\n" % (m, t if i % 7 else t * 1000 + 250, value, host)


def histograms(tsd, copy, g, table, key, one, two):  # pylint: disable=too-many-arguments,too-many-positional-arguments
    """Both ways, those of hours without points too; what cannot be read is counted."""
    def lines_of(folder):
        code, out, err = tsd("export", "--data", folder)
        check("export of %s" % folder, (code, err[:500] if code else ""), (0, ""))
        return sorted(line for line in out.splitlines() if line.startswith("histogram "))

    path = os.path.join(os.path.dirname(one), "histograms")
    with open(path, "w", encoding="utf-8") as f:
        for i in range(5):
            f.write("histogram cp.h %d u=%d:o=0:0,10=%d:10,20=%d host=a\n" % (T0 + i * 40000, i % 2, i, 1000 * i))
        f.write("histogram cp.m05 %d500 u=0:o=3:1,2.5=7 host=a dc=x\n" % (T0 + 70 * 86400))
    code, _, err = tsd("import", "--data", one, path)
    check("import of histograms", (code, err if code else ""), (0, ""))
    words = ("--metric", "cp.h", "--metric", "cp.m05")
    code, out, err = copy("--from", one, "--to", "hbase", *words)
    check("histograms are copied", (code, err if code else ""), (0, ""))
    holds("and counted", "6 histograms" in err, err)
    check("by day", [line.split("\t")[:1] + line.split("\t")[2::2] for line in out.splitlines() if "(histograms)" in line],
          [["cp.h (histograms)", "3", "same"], ["cp.h (histograms)", "2", "same"], ["cp.m05 (histograms)", "1", "same"]])
    n_cells = sum(q[:1] == b"\6" for _, cells in g.scan(table) for _, q in cells)
    check("each is one cell", n_cells, 6)
    code, out, err = copy("--from", "hbase", "--to", two, *words)
    check("and copied back", (code, err if code else ""), (0, ""))
    check("all of them", (len(lines_of(one)), lines_of(two)), (6, lines_of(one)))
    row, cell = next((r, q) for r, cells in g.scan(table) for _, q in cells if q[:1] == b"\6")
    put_cell(g, table, row, cell, b"\0\0\0\0\1")
    code, out, err = copy("--from", "hbase", "--to", two, "--verify", *words)
    check("another count is found", (code, sum("differs" in line for line in out.splitlines())), (1, 1))
    put_cell(g, table, key[:3] + struct.pack(">I", T0 + 500 * 86400) + key[7:], b"\6\0\0", b"\0\1\2")
    code, _, err = copy("--from", "hbase", "--to", two, "--verify", "--metric", "cp.m00")
    holds("one that cannot be read is counted", code == 1 and "1 damaged cell was not copied" in err, (code, err[-300:]))


def names(copy, g, uid, folder):
    """A metric whose id cannot be read is left out and counted, both ways; a --metric without metrics is an error."""
    words = ("--from", "hbase", "--to", folder)
    good = next(value for row, cells in g.scan(uid) for (family, kind), value in cells.items() if (row, family, kind) == (b"cp.m01", b"id", b"metrics"))
    for metric in ("cp.nothing", "cp.m01x*"):
        code, out, err = copy(*words, "--metric", "cp.m00", "--metric", metric)
        new = folder + ".new"
        check("and into a folder that does not exist", copy("--from", "hbase", "--to", new, "--metric", metric)[0], 1)
        check("which is not made", (os.path.exists(new), os.path.exists(new + ".copy")), (False, False))
        check("a metric that does not exist", (code, out, err), (1, "", "tsd: --metric %s matches no metric of HBase's table %s; nothing was copied\n" % (metric, uid)))
    put_cell(g, uid, b"cp.m01", b"metrics", b"\0\1", b"id")
    for words in (words, ("--from", folder, "--to", "hbase")):
        code, out, err = copy(*words)
        check("all others are copied", (code, sorted({line.split("\t")[0] for line in out.splitlines()})), (1, ["cp.m%02d" % m for m in range(N_METRICS) if m != 1]))
        holds("and it is said", "the metric cp.m01 is left out: what HBase's table has of the name is no id" in err and "\ntsd: 1 metric was left out\n" in err, err)
        holds("metrics are counted", "of %d metrics are the same" % (N_METRICS - 1) in err, err)
        check("the progress file has gone", os.path.exists(folder + ".copy"), False)
    put_cell(g, uid, b"cp.m01", b"metrics", good, b"id")
    check("all of them again", copy(*words)[0], 0)


def stopped_early(start, relay, config, folder):
    """A copy that is interrupted before it has copied anything leaves nothing behind."""
    relay.pause_s = 0.05
    p = start("copy", "--from", "hbase", "--to", folder, "--config", config)
    while p.poll() is None and not os.path.exists(folder + ".copy"):
        time.sleep(0.005)
    holds("the folder was made", p.poll() is None and os.path.exists(folder))
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=240)
    relay.pause_s = 0.0
    check("nothing is left", (p.returncode, os.path.exists(folder), os.path.exists(folder + ".copy")), (1, False, False))


def marks(folder):
    """What the progress file of a folder says: the end of what was copied of each metric."""
    ends = {}
    with open(folder + ".copy", encoding="utf-8") as f:
        for line in f.read().splitlines()[1:]:
            begin, end_ms, metric = line.split(" ", 2)
            ends[metric, begin] = max(int(end_ms), ends.get((metric, begin), 0))
    return ends


def keeps_progress(start, relay, config, folder):
    """A copy that goes on and is interrupted before it has copied anything keeps what was recorded before."""
    before, file = marks(folder), os.stat(folder + ".copy").st_ino
    relay.pause_s = 0.05
    p = start("copy", "--from", "hbase", "--to", folder, "--config", config)
    while p.poll() is None and os.stat(folder + ".copy").st_ino == file:
        time.sleep(0.005)
    holds("the file was read and written anew", p.poll() is None)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=240)[1]
    relay.pause_s = 0.0
    check("it was interrupted", (p.returncode, os.path.exists(folder + ".copy")), (1, True))
    holds("and nothing is forgotten", before and before.items() <= marks(folder).items(), (before, said))


def records_all(start, relay, config, folder):
    """Ctrl-C of a copy into HBase records the slices that are complete, also those that are not due yet."""
    with open(folder + ".copy", encoding="utf-8") as f:
        before = f.read()
    os.remove(folder + ".copy")
    relay.pause_s = 0.03
    p = start("copy", "--from", folder, "--to", "hbase", "--config", config)
    while p.poll() is None and not os.path.exists(folder + ".copy"):
        time.sleep(0.005)
    n = relay.n_pieces
    while p.poll() is None and relay.n_pieces < n + 10:
        time.sleep(0.005)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=240)[1]
    relay.pause_s = 0.0
    with open(folder + ".copy", encoding="utf-8") as f:
        recorded = f.read().splitlines()
    check("it was interrupted", (p.returncode, "the same command continues it: it was interrupted" in said), (1, True))
    holds("and what was copied is recorded", len(recorded) > 1, recorded)
    with open(folder + ".copy", "w", encoding="utf-8") as f:
        f.write(before)


def rollups(copy, tsd, g, relay, config, folder):  # pylint: disable=too-many-arguments,too-many-positional-arguments
    """Functions of rollups are read like metrics, and cost few requests: the time of the first point of one is a good guess for the others."""
    functions = ("sum", "count", "min", "max")
    interval = lambda name, text, span, **more: dict(table=PREFIX + "r" + name, preAggregationTable=PREFIX + "p" + name, interval=text, rowSpan=span, **more)
    first = dict(interval("", "1m", "1h", defaultInterval=True), table=PREFIX + "tsdb")
    with open(config, encoding="utf-8") as f:
        keys = f.read()
    with open(config, "a", encoding="utf-8") as f:
        f.write("rollups = true\nrollups_config = %s\n" % json.dumps({"aggregationIds": {name: i + 1 for i, name in enumerate(functions)}, "intervals": [first, interval("1h", "1h", "1d")]}))
    for name in ("p", "r1h", "p1h"):
        g.create(PREFIX + name, ["t"])
    path = os.path.join(folder, "rollups")
    with open(path, "w", encoding="utf-8") as f:
        f.writelines("rollup 1h-%s cp.r %d %d host=a\n" % (name, T0 + hour * 3600, hour) for name in functions for hour in range(48))
    code, _, err = tsd("import", "--data", path + ".one", path)
    check("import of rollups", (code, err if code else ""), (0, ""))
    for words in (("--from", path + ".one", "--to", "hbase"), ("--from", "hbase", "--to", path + ".two")):
        relay.n_pieces = 0
        code, out, err = copy(*words, "--metric", "cp.r")
        check("rollups are copied", (code, err if code else "", len(out.splitlines())), (0, "", 3 * len(functions)))
        holds("of one metric", "all 12 days of 1 metric are the same" in err, err)
        holds("with few requests", relay.n_pieces < 900, relay.n_pieces)
    g.drop_all([PREFIX + name for name in ("p", "r1h", "p1h")])
    with open(config, "w", encoding="utf-8") as f:
        f.write(keys)


def not_copied(copy, tsd, folder):
    """What HBase's tables cannot hold is named, and does not count as copied."""
    odd, text = os.path.join(folder, "odd"), os.path.join(folder, "odd.txt")
    with open(text, "w", encoding="utf-8") as f:
        f.write("".join("cp.odd %d 1 host=%s\n" % (T0, host) for host in ("a", "\u0444", "\u0445")))
    check("import of names that HBase does not have", tsd("import", "--data", odd, text)[0], 0)
    code, _, err = copy("--from", odd, "--to", "hbase")
    holds("only what was copied counts", code == 1 and "copied 1 point in" in err and "2 points of 2 rows were not copied; 2 rows are listed" in err, (code, err))


def main():
    host, port = os.environ["TSD_HBASE_GATEWAY"].rsplit(":", 1)
    g = Gateway(host, int(port))
    tables = g.create_opentsdb(PREFIX)
    relay = SlowRelay(host, int(port))
    work = tempfile.TemporaryDirectory()
    one, two, config = (os.path.join(work.name, name) for name in ("one", "two", "tsd.conf"))
    with open(config, "w", encoding="utf-8") as f:
        f.write("hbase_gateways = 127.0.0.1:%d\n" % relay.port)
        for kind, name in zip(("data", "uid", "tree", "meta"), tables):
            f.write("hbase_%s_table = %s\n" % (kind, name))
    env = {k: v for k, v in os.environ.items() if k != "TSD_HBASE_GATEWAY"}  # near the name of a key

    def start(*words):
        return subprocess.Popen([os.environ["TSD"], *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=env)

    def tsd(*words):
        p = start(*words)
        out, err = p.communicate(timeout=240)
        return p.returncode, out, err

    def copy(*words):
        return tsd("copy", *words, "--config", config)

    def export(folder):
        code, out, err = tsd("export", "--data", folder)
        check("export of %s" % folder, (code, err[:500] if code else ""), (0, ""))
        return sorted(out.splitlines())

    def interrupt(how, *words):
        """Start a copy, and do this when some metrics are done; returns its exit code and what it said."""
        state = one + ".copy" if "hbase" == words[3] else two + ".copy"

        def n_lines():
            try:
                with open(state, encoding="utf-8") as f:
                    return len(f.readlines())
            except OSError:
                return 0

        before, relay.pause_s = n_lines(), 0.03
        p = start("copy", *words, "--config", config)
        while p.poll() is None and n_lines() < before + 3:
            time.sleep(0.01)
        holds("the copy is still running", p.poll() is None)
        how(p)
        said = p.communicate(timeout=240)[1]
        relay.pause_s = 0.0
        return p.returncode, said, state

    points = os.path.join(work.name, "points")
    with open(points, "w", encoding="utf-8") as f:
        f.writelines(lines())
    code, _, err = tsd("import", "--data", one, points)
    check("import", (code, err if code else ""), (0, ""))
    n_points = N_METRICS * 2 * 4 * 30
    for words in ((str(T0 + 5), "of all"), (str(T0 + 100), "gl\u00f6bal", "--notes", "x"), (str(T0 + 7), "of one series", "cp.m03", "host=a"),
                  (str(T0 + 100 * 86400), "on a day without points", "cp.m05", "host=b", "--end", str(T0 + 100 * 86400 + 60))):
        code, _, err = tsd("annotate", *words, "--data", one)
        check("an annotation", (code, err if code else ""), (0, ""))

    # into HBase: killed, then without HBase, then to the end
    out_words = ("--from", one, "--to", "hbase")
    code, _, state = interrupt(lambda p: p.send_signal(signal.SIGKILL), *out_words)
    check("killed", (code, os.path.exists(state)), (-signal.SIGKILL, True))
    code, _, err = copy("--from", "hbase", "--to", one)
    holds("the other direction is refused meanwhile", code != 0 and "belongs to another copy" in err, (code, err))
    began = time.monotonic()
    code, said, state = interrupt(lambda p: relay.cut(), *out_words)
    holds("an HBase that is away ends the copy", code == 1 and "the same command continues it" in said, (code, said))
    holds("before its calls would end", time.monotonic() - began < 200)
    code, _, err = copy("--from", one, "--to", "hbase")
    holds("a copy without HBase does not begin", code == 1 and "no gateway of hbase_gateways answers" in err, (code, err))
    relay.open()
    records_all(start, relay, config, one)
    code, out, err = copy(*out_words)
    check("the rest is copied", (code, err if code else ""), (0, ""))
    check("all days are compared", [line.split("\t")[-1] for line in out.splitlines()], ["same"] * (N_METRICS * 4))
    check("with all points", sum(int(line.split("\t")[2]) for line in out.splitlines()), n_points)
    holds("and annotations", "all 4 annotations are the same on both sides" in err and "and 4 annotations" in err, err)
    check("the progress file has gone", os.path.exists(state), False)
    check("verify", copy(*out_words, "--verify")[0], 0)

    # back into another folder
    in_words = ("--from", "hbase", "--to", two)
    code, out, err = copy(*in_words, "--dry-run")
    check("what would be copied", (code, len(out.splitlines()), out.splitlines()[0]), (0, N_METRICS, "cp.m00\t2 series\t2013-01-01 to 2013-10-28"))
    code, _, state = interrupt(lambda p: p.send_signal(signal.SIGKILL), *in_words)
    check("killed on the way back", (code, os.path.exists(state)), (-signal.SIGKILL, True))
    check("a copy of one metric", copy(*in_words, "--metric", "cp.m%02d" % (N_METRICS - 1))[0], 0)
    check("leaves what is recorded of the others", os.path.exists(state), True)
    code, said, state = interrupt(lambda p: p.send_signal(signal.SIGINT), *in_words)
    check("Ctrl-C ends it, and what was copied is recorded", (code, os.path.exists(state)), (1, True))
    holds("and says how to go on", "the copy is not complete; the same command continues it" in said, said)
    keeps_progress(start, relay, config, two)
    stopped_early(start, relay, config, two + ".new")
    code, out, err = copy(*in_words)
    check("copied back", (code, err if code else "", len(out.splitlines())), (0, "", N_METRICS * 4))
    holds("with annotations", "all 4 annotations are the same on both sides" in err, err)
    check("every point came back", export(two), export(one))

    # differences
    rows = sorted(g.scan(tables[0]))
    key = next(key for key, cells in rows if any(len(q) != 3 for _, q in cells))
    put_cell(g, tables[0], key, struct.pack(">H", 3599 << 4), b"\x07")
    code, out, err = copy(*in_words, "--verify")
    check("a point more is found", (code, sum("differs" in line for line in out.splitlines())), (1, 1))
    holds("and said", "1 of %d days of metrics differs" % (N_METRICS * 4) in err, err)
    check("copied once more", copy(*in_words)[0], 0)

    names(copy, g, tables[1], two)
    rollups(copy, tsd, g, relay, config, work.name)
    histograms(tsd, copy, g, tables[0], key, one, two)
    not_copied(copy, tsd, work.name)
    g.drop_all(tables)
    work.cleanup()
    return end("hbase_copy")


if __name__ == "__main__":
    sys.exit(main())
