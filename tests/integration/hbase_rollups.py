#!/usr/bin/env python3
"""Rollups and pre-aggregates over HBase: their tables are created, what is sent arrives there in OpenTSDB's rows and cells, what another writer has put is
answered, also for a daemon that has no points, and deletes delete there. TSD_HBASE_GATEWAY=HOST:PORT as for hbase.py."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from hbase import http_all, put_cell, stat
from metakit import check, end, holds
from thrift2 import Gateway
from tsdtest import Daemon, binary, free_port, until

DAY = int(time.time()) // 86400 * 86400 - 20 * 86400
PREFIX = "tsd_roll_%d_" % os.getpid()
IDS = {"sum": 1, "count": 39, "max": 44}  # 39 and 44 are characters of HBase's filter language
KEPT = 48 * 30  # hbase_keep_local_h: longer than 20 days


def configuration():
    interval = lambda table, pre, text, span, **more: dict(table=PREFIX + table, preAggregationTable=PREFIX + pre, interval=text, rowSpan=span, **more)
    return {"aggregationIds": IDS, "intervals": [interval("tsdb", "agg", "1m", "1h", defaultInterval=True), interval("r1h", "p1h", "1h", "1d"),
                                                 interval("r1d", "r1d", "1d", "1n")]}


def cell(function, index, value):
    """Qualifier and value of an integer of one byte."""
    return bytes((IDS[function],)) + struct.pack(">H", index << 4), bytes((value,))


def table_rows(g, name):
    """{(row, qualifier): value}"""
    return {(key, q): v for key, row in g.scan(PREFIX + name) for (_, q), v in row.items()}


def month(t):
    m = time.gmtime(t)
    return int(time.mktime((m.tm_year, m.tm_mon, 1, 0, 0, 0, 0, 0, 0)) - time.timezone)


def ask(d, what, more=""):
    """value of the tag h -> {hour since DAY: value}"""
    rows = d.api("/api/query?start=%d&end=%d&m=%s:rr.m%s" % (DAY - 86400, DAY + 3 * 86400, what, more))
    return {r["tags"].get("h", "*"): {(int(t) - DAY) // 3600: v for t, v in r["dps"].items()} for r in rows}


def refused(keys, config, sentence):
    """The daemon does not start with such a configuration, and says why."""
    with tempfile.TemporaryDirectory() as folder:
        argv = [binary(), "serve", "--data", folder + "/d", "--port", str(free_port()), "--rollups", "true", "--rollups-config", config]
        for key, value in keys.items():
            argv += ["--" + key.replace("_", "-"), str(value)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    holds("it is refused: " + sentence, done.returncode != 0 and sentence in done.stderr + done.stdout, done.stderr[-500:])


def created(keys, folder):
    with open(folder + "/tsd.conf", "w") as f:
        f.writelines("%s = %s\n" % (k, v) for k, v in keys.items())
    run = lambda *words: json.loads(subprocess.run([binary(), "hbase", *words, "--config", folder + "/tsd.conf", "--format", "json"], check=True, stdout=subprocess.PIPE).stdout)
    made = run("create-tables", "--split", "000002")
    want = [(name, role) for name, role in zip(("tsdb", "tsdb-uid", "tsdb-tree", "tsdb-meta", "agg", "r1h", "p1h", "r1d"),
                                               ("data", "uid", "tree", "meta", "pre-aggregate", "rollup 1h", "pre-aggregate 1h", "rollup 1d"))]
    check("tables are created", [(t["table"][len(PREFIX):], t["role"], t["state"]) for t in made["tables"]], [(*t, "created") for t in want])
    check("those of rollups are divided", [len(t["regions"]) for t in made["tables"]], [2, 1, 1, 1, 2, 2, 2, 2])
    check("status lists them", [(t["table"][len(PREFIX):], t["role"]) for t in run("status")["tables"]], want)


def shipped(d, g):
    lines = []
    for hour in range(30):  # the second row has six of them
        lines += ["rollup 1h-sum rr.m %d %d h=a" % (DAY + hour * 3600 + 7, hour), "rollup 1h-count rr.m %d 2 h=a" % (DAY + hour * 3600),
                  "rollup 1h-sum rr.m %d %d h=b" % (DAY + hour * 3600, hour + 50)]
    lines += ["rollup 1h-sum:sum rr.m %d 100 h=a" % DAY, "rollup sum rr.m %d 7 h=a" % (DAY + 90), "rollup 1d-max rr.m %d 9 h=a" % DAY]
    d.send("\n".join(lines) + "\n")
    d.sync()

    def ids():  # of the forward map: shipments at the same time may leave reverse entries that nobody uses
        n = {}
        for name, cells in g.scan(PREFIX + "tsdb-uid"):
            for (family, kind), key in cells.items():
                if family == b"id" and name != b"\0":
                    n.setdefault(kind.decode(), {})[name.decode()] = key
        return n if set(n.get("tagv", ())) == {"a", "b", "SUM"} else None
    n = until("ids", ids)
    check("only visible names have ids", sorted(n["metrics"]), ["rr.m"])

    def key(base, **tags):
        return n["metrics"]["rr.m"] + struct.pack(">I", base) + b"".join(sorted(n["tagk"][k] + n["tagv"][v] for k, v in tags.items()))
    want = {}
    for hour in range(30):
        base, index = DAY + hour // 24 * 86400, hour % 24
        for h, function, value in (("a", "sum", hour), ("a", "count", 2), ("b", "sum", hour + 50)):
            q, v = cell(function, index, value)
            want[(key(base, h=h), q)] = v
    until("rollups in HBase", lambda: table_rows(g, "r1h") == want)
    pre = key(DAY, h="a", _aggregate="SUM")
    until("rollups of pre-aggregates", lambda: table_rows(g, "p1h") == {(pre, b"\x01\0\0"): b"\x64"})
    until("pre-aggregates", lambda: table_rows(g, "agg") == {(pre, struct.pack(">H", 90 << 4)): b"\7"})
    begin = month(DAY)
    until("days in a month", lambda: table_rows(g, "r1d") == {(key(begin, h="a"), bytes((44,)) + struct.pack(">H", (DAY - begin) // 86400 << 4)): b"\x09"})
    check("no row is refused", stat(d, "tsd.hbase.shipped_refused_rows"), 0)
    check("nothing is in the data table", g.scan(PREFIX + "tsdb"), [])
    until("nothing waits for HBase", lambda: stat(d, "tsd.hbase.backlog_points") == 0)
    d.send("rollup 1h-sum rr.m %d 300 h=a\n" % (DAY + 3600))
    d.sync()
    del want[(key(DAY, h="a"), b"\x01\0\x10")]
    want[(key(DAY, h="a"), b"\x01\0\x11")] = b"\x01\x2c"
    until("a longer value replaces the other one", lambda: table_rows(g, "r1h") == want)
    return key, want


def answers(d):
    return [ask(d, what) for what in ("none:1h-sum:rollup_nofallback", "none:12h-sum:rollup_nofallback", "sum:1h-avg:rollup_nofallback", "none:1d-max:rollup_nofallback",
                                      "none:1h-sum:rollup_nofallback:pre-agg", "none:1m-sum:rollup_raw:pre-agg", "none:1h-count:rollup_nofallback",
                                      "none:1h-max:rollup_nofallback")]


def other_writer(d, g, key):
    """Cells of both forms in our rows, and a series that this daemon does not know: its tags are those of others in another order."""
    check("what was sent is answered", ask(d, "none:12h-sum:rollup_nofallback"),
          {"a": {0: sum(range(12)) + 299, 12: sum(range(12, 24)), 24: sum(range(24, 30))}, "b": {0: sum(range(50, 62)), 12: sum(range(62, 74)), 24: sum(range(74, 80))}})
    check("with averages", ask(d, "none:12h-avg:rollup_nofallback")["a"], {0: (sum(range(12)) + 299) / 24, 12: sum(range(12, 24)) / 24, 24: sum(range(24, 30)) / 12})
    put_cell(g, PREFIX + "r1h", key(DAY, h="a"), b"max:\0\x30", b"\x2a")
    put_cell(g, PREFIX + "r1h", key(DAY + 86400, h="a"), b"\x01\1\x71", b"\1\0")  # hour 47
    put_cell(g, PREFIX + "r1h", key(DAY + 86400, h="SUM"), b"\x01\0\x70", b"\x63")  # hour 31 of a new series
    put_cell(g, PREFIX + "p1h", key(DAY, h="b", _aggregate="SUM"), b"SUM:\0\x20", b"\x0b")
    check("their cells are answered", ask(d, "none:1h-max:rollup_nofallback"), {"a": {3: 42}})
    sums = ask(d, "none:1h-sum:rollup_nofallback")
    check("and their hours", (sums["a"][47], sums["SUM"], sums["a"][1], len(sums["b"])), (256, {31: 99}, 300, 30))
    check("and their pre-aggregates", ask(d, "none:1h-sum:rollup_nofallback:pre-agg"), {"a": {0: 100}, "b": {2: 11}})
    d.flush("files")  # what was shipped from memory alone has no mark, and counts as newer than what is in HBase
    passes = stat(d, "tsd.storage.ship.passes")
    until("two passes", lambda: stat(d, "tsd.storage.ship.passes") >= passes + 2)
    put_cell(g, PREFIX + "r1h", key(DAY, h="b"), b"\x01\0\x51", b"\1\1")  # ours has one byte
    until("theirs is newer than ours", lambda: ask(d, "none:1h-sum:rollup_nofallback")["b"][5] == 257)
    d.send("rollup 1h-sum rr.m %d 3 h=b\nrollup 1h-max rr.m %d 4 h=a\n" % (DAY + 5 * 3600, DAY + 3 * 3600))
    d.sync()
    until("one cell is left", lambda: sorted(q for k, q in table_rows(g, "r1h") if k == key(DAY, h="b") and q[1:2] == b"\0" and q[2] >> 4 == 5) == [b"\x01\0\x50"])
    until("also of the other form", lambda: [q for k, q in table_rows(g, "r1h") if q[0] == 44 or q[:4] == b"max:"] == [b",\0\x30"])
    d.restart()
    return answers(d)


def deletes(d, g, key):
    before = table_rows(g, "r1h")
    at = "/api/delete?start=%d&end=%d&m=none:rr.m{h=%s}&kinds=rollups"
    status, body, _ = http_all(d, at % (DAY, DAY + 30 * 3600, "a"), method="DELETE")
    check("a delete", status, 200)
    check("is in force at once", sorted(ask(d, "none:1h-sum:rollup_nofallback")["a"]), [47])
    d.flush("files")  # deletes in memory are not shipped
    left = {k: v for k, v in before.items() if k[0] not in (key(DAY, h="a"), key(DAY + 86400, h="a")) or k[1] == b"\x01\1\x71"}
    until("and carried out in HBase", lambda: table_rows(g, "r1h") == left)
    check("days too", table_rows(g, "r1d"), {})
    status, body, _ = http_all(d, at % (DAY, DAY + 3 * 86400, "SUM"), method="DELETE")
    d.flush("files")
    gone = (key(DAY + 86400, h="SUM"), b"\x01\0\x70")
    until("also of a series that only HBase has", lambda: gone not in table_rows(g, "r1h"))
    d.send("rollup 1h-sum rr.m %d 8 h=a\n" % DAY)
    d.sync()
    until("one sent after it", lambda: table_rows(g, "r1h").get((key(DAY, h="a"), b"\x01\0\0")) == b"\x08")


def copies(g, keys, tables):
    """Into a folder, and from there into other tables: the same cells, all with ids of functions."""
    def plain(name):
        return sorted((bytes((IDS[q[:-3].decode().lower()],)) + q[-2:] if q[-3:-2] == b":" else q, v) for (_, q), v in table_rows(g, name).items())

    want = {name: plain(name) for name in ("agg", "r1h", "p1h", "r1d")}
    with tempfile.TemporaryDirectory() as folder:
        def run(*words, text=keys):
            with open(folder + "/tsd.conf", "w") as f:
                f.writelines("%s = %s\n" % (k, v) for k, v in text.items())
            done = subprocess.run([binary(), *words, "--config", folder + "/tsd.conf"], capture_output=True, text=True, timeout=300)
            check("%s %s" % words[:2], (done.returncode, done.stderr[-500:] if done.returncode else ""), (0, ""))
            return done

        run("copy", "--from", "hbase", "--to", folder + "/data")
        out = run("copy", "--from", "hbase", "--to", folder + "/data", "--verify").stdout
        lines = [line.split("\t") for line in out.splitlines()]
        check("all days are the same", {line[-1] for line in lines}, {"same"})
        check("rollups are listed beside metrics", {line[0] for line in lines}, {"rr.m (rollups 1h-sum)", "rr.m (rollups 1h-sum of pre-aggregates)"})
        holds("the check counts rollups, too", " rollups\n" in run("fsck", "--hbase").stdout)
        g.drop_all(tables)
        run("hbase", "create-tables")
        run("copy", "--from", folder + "/data", "--to", "hbase")
        check("they are the same after a way there and back", {name: plain(name) for name in want}, want)


def main():
    host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
    g = Gateway(host, int(port))
    tables = [PREFIX + name for name in ("tsdb", "tsdb-uid", "tsdb-tree", "tsdb-meta", "agg", "r1h", "p1h", "r1d")]
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), tables)}
    keys.update(remote="hbase", hbase_gateways="%s:%s" % (host, port))
    refused(keys, "1h,1d", "rollups_config: with remote = hbase it must be OpenTSDB's JSON")
    refused(keys, json.dumps({**configuration(), "aggregationIds": {"sum": 1, "max": 1}}), "have the same id 1")
    keys.update(rollups="true", rollups_config=json.dumps(configuration()))
    with tempfile.TemporaryDirectory() as folder:
        created(keys, folder)
    keys.update(hbase_ship=1, query_timeout_ms=600000, hbase_keep_local_h=KEPT)
    with Daemon(query_allow_delete="true", **keys) as d:
        key, _ = shipped(d, g)
        answer = other_writer(d, g, key)
        holds("there are answers of all kinds", all(answer), answer)
        with Daemon(**keys) as other:
            check("a daemon without points answers the same", answers(other), answer)
        deletes(d, g, key)
    copies(g, keys, tables)
    g.drop_all(tables)
    return end("hbase_rollups")


if __name__ == "__main__":
    sys.exit(main())
