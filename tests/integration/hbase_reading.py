#!/usr/bin/env python3
"""What other programs write to HBase beside a daemon: annotations in answers of queries, in lists and in searches, also of series that the daemon
does not know, until they are deleted there; and queries whose points do not fit in their memory at once. TSD_HBASE_GATEWAY=HOST:PORT as for hbase.py."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from hbase import HOUR, create_tables, names, put_cell, shipped
from metakit import ask, check, end
from thrift2 import I32, LIST, STRING, STRUCT, Gateway, field, list_of, struct_of, text
from tsdtest import Daemon, until

PREFIX = "tsd_read_%d_" % os.getpid()


def document(start, description, ids=""):
    return ('{"tsuid":"%s","startTime":%d,"endTime":0,"description":"%s","notes":"","custom":null}' % (ids, start, description)).encode()


def delete_cell(g, table, key, qualifier):
    column = struct_of(field(1, STRING, text(b"t")), field(2, STRING, text(qualifier)))
    g.call("deleteSingle", field(1, STRING, text(table)),
           field(2, STRUCT, struct_of(field(1, STRING, text(key)), field(2, LIST, list_of(STRUCT, [column])), field(4, I32, struct.pack(">i", 1)))))


def row(metric, tags, base):
    return bytes.fromhex(metric) + struct.pack(">I", base) + bytes.fromhex(tags)


def said(notes):
    return [(n["startTime"] - HOUR, n["description"]) for n in notes]


def notes_of(d, more=""):
    """Annotations of the only output of a query."""
    answer = d.api("/api/query?start=%d&end=%d&m=sum:hr.m%s" % (HOUR, HOUR + 7199, more))
    check("one output", len(answer), 1)
    return said(answer[0].get("annotations", []))


def annotations(d, g, tables, metric, tags):
    ids = (metric + tags).upper()
    first, second = row(metric, tags, HOUR), row(metric, tags, HOUR + 3600)
    tsuid = d.api("/api/query?start=%d&end=%d&show_tsuids=true&m=none:hr.m" % (HOUR, HOUR + 60))[0]["tsuids"][0]
    check("no annotations yet", notes_of(d), [])
    put_cell(g, tables[0], first, b"\1\0\7", document(HOUR + 7, "in a row of points", ids))
    put_cell(g, tables[0], second, b"\1\0\1", document(HOUR + 3601, "in a row of its own", ids))
    put_cell(g, tables[0], first, b"\1\0\x09", b"{damaged")
    both = [(7, "in a row of points"), (3601, "in a row of its own")]
    check("a query answers those of others", notes_of(d), both)
    check("unless they are not wanted", notes_of(d, "&no_annotations=true"), [])
    check("search finds what a query has met", sorted(said(d.api("/api/search/annotation?query=row")["results"])), both)
    put_cell(g, tables[0], first, b"\1\0\x08", document(HOUR + 8, "another", ids))
    path = "/api/annotations?start_time=%d&end_time=%d" % (HOUR, HOUR + 7200)
    check("a list asks HBase", said(d.api(path + "&tsuids=" + tsuid)), [both[0], (8, "another"), both[1]])
    put_cell(g, tables[0], row("000000", "", HOUR), b"\1\0\5", document(HOUR + 5, "for all"))
    check("global ones in a list", said(d.api(path)), [(5, "for all")])
    put_cell(g, tables[0], row("000000", "", HOUR + 3600), b"\1\0\5", document(HOUR + 3605, "for all, later"))
    answer = d.api("/api/query?start=%d&end=%d&global_annotations=true&m=sum:hr.m" % (HOUR, HOUR + 7199))
    check("global ones in answers", said(answer[0]["globalAnnotations"]), [(5, "for all"), (3605, "for all, later")])
    d.api("/api/annotation", {"tsuid": tsuid, "startTime": HOUR + 20, "description": "ours"})
    check("together with ours", notes_of(d), [both[0], (8, "another"), (20, "ours"), both[1]])
    delete_cell(g, tables[0], first, b"\1\0\7")
    delete_cell(g, tables[0], first, b"\1\0\x14")
    check("what others delete is gone", notes_of(d), [(8, "another"), both[1]])
    check("from searches too", sorted(said(d.api("/api/search/annotation?query=*")["results"])),
          [(5, "for all"), (8, "another"), both[1], (3605, "for all, later")])
    delete_cell(g, tables[0], row("000000", "", HOUR + 3600), b"\1\0\5")
    check("global ones too", said(d.api(path)), [(5, "for all")])
    put_cell(g, tables[0], first, b"\1\0\x0b", document(HOUR + 11, "not met yet", ids))
    check("a delete of many asks HBase first",
          ask(d, "DELETE", "/api/annotation/bulk?start_time=%d&end_time=%d&tsuids=%s" % (HOUR, HOUR + 3599, tsuid))[1]["totalDeleted"], 2)
    check("and deletes there", [q for key, cells in g.scan(tables[0]) if key == first for _, q in cells if q[:1] == b"\1"], [b"\1\0\x09"])
    d.restart()
    check("after a restart", notes_of(d), [both[1]])


def load(d, hours):
    """A point a second, for some hours."""
    for h in range(hours):
        base = HOUR - h * 3600
        d.send("".join("put hr.m %d %d h=a\n" % (base + s, s) for s in range(3600)))
    d.sync()


def main():
    host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
    g = Gateway(host, int(port))
    tables = [PREFIX + name for name in ("tsdb", "tsdb-uid", "tsdb-tree", "tsdb-meta")]
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), tables)}
    keys.update(remote="hbase", hbase_gateways="%s:%s" % (host, port))
    create_tables(host, port, {k: v for k, v in keys.items() if k.endswith("_table")})
    with Daemon(query_timeout_ms=600000, workers=2, hbase_ship=1, meta_allow_delete="true", **keys) as d:
        d.send("put hr.m %d 42 h=a\n" % HOUR)
        d.sync()
        ids = until("ids", lambda: (lambda n: n if sum(map(len, n.values())) == 3 else None)(names(g.scan(tables[1]))))
        metric, tags = list(ids["metrics"])[0], list(ids["tagk"])[0] + list(ids["tagv"])[0]
        shipped(g, tables, {(metric, HOUR, tags): {0: 42}})
        annotations(d, g, tables, metric, tags)
        hours = 150
        load(d, hours)
        until("everything is in HBase", lambda: len({key for key, _ in g.rows(tables[0]) if key[:3].hex() == metric}) >= hours + 1)
        ask_all = "/api/query?start=%d&end=%d&m=sum:0all-count:hr.m" % (HOUR - hours * 3600, HOUR + 3600)
        check("all points", sum(d.api(ask_all)[0]["dps"].values()), hours * 3600)
    with Daemon(query_timeout_ms=600000, workers=2, query_max_bytes=6 << 20, **keys) as other:
        check("a daemon without points and with little memory answers", sum(other.api(ask_all)[0]["dps"].values()), hours * 3600)
        check("and has not held them all", {a["account"]: a for a in other.api("/api/admin/memory")["accounts"]}["queries"]["peakBytes"] <= 6 << 20)
        check("annotations of a series that it does not know", notes_of(other), [(3601, "in a row of its own")])
        answer = other.api("/api/query?start=%d&end=%d&m=sum:hr.m" % (HOUR, HOUR + 7199))
        check("with its TSUID", [n["tsuid"] for n in answer[0]["annotations"]], [(metric + tags).upper()])
        put_cell(g, tables[0], row(metric, tags, HOUR), b"\1\0\3", document(HOUR + 3, "new"))
        check("are read each time", notes_of(other), [(3, "new"), (3601, "in a row of its own")])
    g.drop_all(tables)
    return end("hbase_reading")


if __name__ == "__main__":
    sys.exit(main())
