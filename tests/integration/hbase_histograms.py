#!/usr/bin/env python3
"""Histograms over HBase: what is sent arrives there as OpenTSDB's histograms, buckets that another writer has put are answered, also those of series that
a daemon does not know, and deletes delete there. TSD_HBASE_GATEWAY=HOST:PORT as for hbase.py."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from hbase import HOUR, create_tables, http_all, names, put_cell, stat
from metakit import check, end
from thrift2 import Gateway
from tsdtest import Daemon, until

PREFIX = "tsd_hist_%d_" % os.getpid()
CODEC = 42


def varint(n):
    out = b""
    while n >= 128:
        out += bytes((n & 127 | 128,))
        n >>= 7
    return out + bytes((n,))


def value(buckets, under=0, over=0):
    """Bytes of OpenTSDB's simple codec."""
    out = struct.pack(">BH", CODEC, len(buckets))
    for low, high, n in buckets:
        out += struct.pack(">ff", low, high) + varint(n)
    return out + varint(under) + varint(over)


def cells(g, table):
    """(row, qualifier) -> value, of histograms."""
    return {(key, q): v for key, row in g.scan(table) for (_, q), v in row.items() if q[:1] == b"\6" and len(q) in (3, 5)}


def ask(d, what="sum"):
    """metric of the output -> {second of HOUR: value}."""
    path = "/api/query?start=%d&end=%d&m=%s:percentiles[50,99]:show-histogram-buckets:hh.m" % (HOUR - 3600, HOUR + 7200, what)
    return {(r["metric"], r["tags"].get("h", "*")): {int(t) - HOUR: v for t, v in r["dps"].items()} for r in d.api(path)}


def keys_of(g, tables):
    """Row keys of the series h=a and h=b in HOUR."""
    def ids():
        n = {kind: {name: key for key, name in of.items()} for kind, of in names(g.scan(tables[1])).items()}
        return n if set(n.get("tagv", ())) == {"a", "b"} else None
    n = until("ids", ids)
    check("only visible names have ids", sorted(n["metrics"]), ["hh.m"])
    return [bytes.fromhex(n["metrics"]["hh.m"]) + struct.pack(">I", HOUR) + bytes.fromhex(n["tagk"]["h"] + n["tagv"][v]) for v in "ab"]


def shipped(d, g, tables):
    d.send("histogram hh.m %d u=1:o=0:0,10=2:10,20=300 h=a\n" % (HOUR + 5))
    d.send("histogram hh.m %d 10,20=4:0,10=1 h=b\n" % (HOUR + 5))
    d.send("histogram hh.m %d500 20,50=7 h=b\n" % (HOUR + 9))
    d.sync()
    a, b = keys_of(g, tables)
    want = {(a, b"\6\0\5"): value([(0, 10, 2), (10, 20, 300)], 1),
            (b, b"\6\0\5"): value([(0, 10, 1), (10, 20, 4)]),
            (b, b"\6" + struct.pack(">I", 9500)): value([(0, 10, 0), (10, 20, 0), (20, 50, 7)])}
    until("histograms in HBase", lambda: cells(g, tables[0]) == want)
    check("no row is refused", stat(d, "tsd.hbase.shipped_refused_rows"), 0)
    until("nothing waits for HBase", lambda: stat(d, "tsd.hbase.backlog_points") == 0)
    d.send("histogram hh.m %d 10,20=5 h=b\n" % (HOUR + 5))
    d.sync()
    want[(b, b"\6\0\5")] = value([(0, 10, 0), (10, 20, 5), (20, 50, 0)])
    until("one that was sent again", lambda: cells(g, tables[0]) == want)
    return a, b, want


def other_writer(d, g, tables, a, b):
    """A histogram of another writer, with a bucket that is new, and one of a new series."""
    before = ask(d)
    check("the answer is that of what was sent", (before[("hh.m_0.0_10.0", "*")], before[("hh.m_pct_50.0", "*")]),
          ({5: 2, 9: 0}, {5: 15.0, 9: 35.0}))
    put_cell(g, tables[0], a, b"\6\0\7", value([(100, 200, 3)]))
    after = ask(d)
    check("their bucket is answered", (after[("hh.m_100.0_200.0", "*")], after[("hh.m_pct_99.0", "*")][7]), ({5: 0, 7: 3, 9: 0}, 150.0))
    check("the others are the same", {t: v for t, v in after[("hh.m_10.0_20.0", "*")].items() if t != 7}, before[("hh.m_10.0_20.0", "*")])
    d.flush("files")  # what was shipped from memory alone has no mark, and counts as newer than what is in HBase
    passes = stat(d, "tsd.storage.ship.passes")
    until("two passes", lambda: stat(d, "tsd.storage.ship.passes") >= passes + 2)
    put_cell(g, tables[0], b, b"\6\0\5", value([(10, 20, 6)]))
    until("theirs is newer than ours", lambda: ask(d, "none")[("hh.m_10.0_20.0", "b")][5] == 6)
    put_cell(g, tables[0], b, b"\6\0\6", b"\x07\0\0\0\0")
    check("another codec is left out", 6 in ask(d, "none")[("hh.m_UNDERFLOW", "b")], False)
    put_cell(g, tables[0], b, b"\6\0\6", value([], 1))
    d.restart()
    return ask(d), ask(d, "none")


def deletes(d, g, tables, a, b):
    at = "/api/query?start=%d&end=%d&m=none:percentiles[50]:hh.m{h=%s}"
    check("a delete", http_all(d, at % (HOUR + 7, HOUR + 8, "a"), method="DELETE")[0], 200)
    check("is in force at once", 7 in ask(d, "none")[("hh.m_UNDERFLOW", "a")], False)
    d.flush("files")  # deletes in memory are not shipped
    until("and carried out in HBase", lambda: sorted(q for key, q in cells(g, tables[0]) if key == a) == [b"\6\0\5"])
    d.send("histogram hh.m %d u=3 h=a\n" % (HOUR + 7))
    d.sync()
    until("one sent after it", lambda: cells(g, tables[0]).get((a, b"\6\0\7"), b"")[-2:] == b"\3\0")
    check("is answered", ask(d, "none")[("hh.m_UNDERFLOW", "a")][7], 3)
    check("others stay", len([q for key, q in cells(g, tables[0]) if key == b]), 3)


def main():
    host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
    g = Gateway(host, int(port))
    tables = [PREFIX + name for name in ("tsdb", "tsdb-uid", "tsdb-tree", "tsdb-meta")]
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), tables)}
    create_tables(host, port, keys)
    keys.update(remote="hbase", hbase_gateways="%s:%s" % (host, port), hbase_ship=1, workers=2, query_timeout_ms=600000,
                histograms_config='{"net.opentsdb.core.SimpleHistogramDecoder": %d}' % CODEC)
    with Daemon(query_allow_delete="true", **keys) as d:
        a, b, _ = shipped(d, g, tables)
        answer = other_writer(d, g, tables, a, b)
        with Daemon(**keys) as other:
            check("a daemon without points answers the same", (ask(other), ask(other, "none")), answer)
        deletes(d, g, tables, a, b)
    g.drop_all(tables)
    return end("hbase_histograms")


if __name__ == "__main__":
    sys.exit(main())
