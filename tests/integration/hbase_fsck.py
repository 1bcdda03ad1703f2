#!/usr/bin/env python3
"""tsd fsck, uid and scan with --hbase over the tables of a gateway (TSD_HBASE_GATEWAY=HOST:PORT, of a real HBase or the fake one): damage is planted through
Thrift, found, repaired, and gone; good points stay. Tables are made with a prefix of their own."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from metakit import check, end, holds
from thrift2 import I64, LIST, STRING, STRUCT, Gateway, field, list_of, struct_of, text

PREFIX = "tsd_fsck_%d_" % os.getpid()
OLD = int(time.time() * 1000) - 3600000  # what was written ten minutes ago may be changed
KEY = bytes.fromhex("000001" "50e22700" "000001000001")


def put(g, table, key, family, qualifier, value, ts=OLD):
    cell = struct_of(field(1, STRING, text(family)), field(2, STRING, text(qualifier)), field(3, STRING, text(value)), field(4, I64, struct.pack(">q", ts)))
    g.call("put", field(1, STRING, text(table)), field(2, STRUCT, struct_of(field(1, STRING, text(key)), field(2, LIST, list_of(STRUCT, [cell])))))


def rollups(g, data, config, fsck):
    """Tables of rollups are checked, too."""
    interval = dict(table=PREFIX + "r1h", preAggregationTable=PREFIX + "p1h", interval="1h", rowSpan="1d")
    first = dict(table=data, preAggregationTable=PREFIX + "agg", interval="1m", rowSpan="1h", defaultInterval=True)
    for name in ("r1h", "p1h", "agg"):
        g.create(PREFIX + name, ["t"])
    with open(config, "a", encoding="utf-8") as f:
        f.write("rollups = true\nrollups_config = %s\n" % json.dumps({"aggregationIds": {"sum": 1}, "intervals": [first, interval]}))
    day = bytes.fromhex("000001" "50e22700" "000001000001")
    put(g, PREFIX + "r1h", day, b"t", b"\1\0\0", b"\5")
    put(g, PREFIX + "r1h", day, b"t", b"\1\0\x10", b"\1")
    put(g, PREFIX + "r1h", day, b"t", b"sum:\0\x10", b"\2", OLD + 5)
    put(g, PREFIX + "p1h", day, b"t", b"\1\0\x21", b"\1")  # one byte, but its qualifier says two
    put(g, PREFIX + "agg", other_hour(day), b"t", b"\0\x25", b"\1\2\3")
    want = {"duplicate_point": 1, "bad_value": 2}
    code, found, _, listed = fsck("--verbose")
    check("rollups are checked", (code, found), (4, want))
    check("each in its table", sorted((r["table"], r["fault"]) for r in listed if r["kind"] == "damage"),
          [(PREFIX + "agg", "bad_value"), (PREFIX + "p1h", "bad_value"), (PREFIX + "r1h", "duplicate_point")])
    check("and repaired", fsck("--delete", "values", "--duplicates", "newest")[:3], (1, want, want))
    check("then they are clean", fsck()[:2], (0, {}))
    check("what is good stays", [dict(g.scan(PREFIX + name)) for name in ("r1h", "p1h", "agg")],
          [{day: {(b"t", b"\1\0\0"): b"\5", (b"t", b"sum:\0\x10"): b"\2"}}, {}, {}])
    g.drop_all([PREFIX + name for name in ("r1h", "p1h", "agg")])


def other_hour(key):
    """The row of the next hour."""
    return key[:3] + struct.pack(">I", struct.unpack(">I", key[3:7])[0] + 3600) + key[7:]


def main():
    host, port = os.environ["TSD_HBASE_GATEWAY"].rsplit(":", 1)
    g = Gateway(host, int(port))
    tables = g.create_opentsdb(PREFIX)
    data, uid = tables[0], tables[1]
    folder = tempfile.TemporaryDirectory()
    config = os.path.join(folder.name, "tsd.conf")
    with open(config, "w", encoding="utf-8") as f:
        f.write("remote = hbase\nhbase_gateways = %s:%s\nworkers = 2\n" % (host, port))
        for kind, name in zip(("data", "uid", "tree", "meta"), tables):
            f.write("hbase_%s_table = %s\n" % (kind, name))

    env = {k: v for k, v in os.environ.items() if k != "TSD_HBASE_GATEWAY"}  # near the name of a key
    env["TMPDIR"] = folder.name

    def tsd(*words):
        p = subprocess.run([os.environ["TSD"], *words, "--hbase", "--config", config], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=env)
        return p.returncode, p.stdout, p.stderr

    def fsck(*words):
        code, out, err = tsd("fsck", "--format", "json", *words)
        rows = [json.loads(line) for line in out.splitlines()]
        check("fsck says no error", err, "")
        return code, rows[-1]["found"], rows[-1]["repaired"], rows[:-1]

    # names
    check("nothing is wrong with empty tables", tsd("fsck"), (0, "0 names, 0 rows, 0 cells, 0 points, 0 annotations\nclean\n", ""))
    check("a name is assigned", tsd("uid", "assign", "metrics", "sys.cpu", "sys.mem"), (0, "metrics sys.cpu: [0, 0, 1]\nmetrics sys.mem: [0, 0, 2]\n", ""))
    check("once", tsd("uid", "assign", "metrics", "sys.cpu")[:2], (0, "metrics sys.cpu: [0, 0, 1]\n"))
    check("others, too", tsd("uid", "assign", "tagk", "host")[0] + tsd("uid", "assign", "tagv", "web\xf6", "other")[0], 0)
    check("found by name", tsd("uid", "web\xf6")[:2], (0, "tagv web\xf6: [0, 0, 1]\n"))
    check("and by number", tsd("uid", "metrics", "2")[:2], (0, "metrics sys.mem: [0, 0, 2]\n"))
    check("of all kinds", tsd("uid", "1")[:2], (0, "metrics sys.cpu: [0, 0, 1]\ntagk host: [0, 0, 1]\ntagv web\xf6: [0, 0, 1]\n"))
    check("what does not exist is not found", tsd("uid", "nobody"), (1, "", "tsd: no such name or number: nobody\n"))
    check("names match", tsd("uid", "grep", "-i", "^(SYS|web)")[:2], (0, "metrics sys.cpu: [0, 0, 1]\nmetrics sys.mem: [0, 0, 2]\ntagv web\xf6: [0, 0, 1]\n"))
    check("or do not", tsd("uid", "grep", "tagk", "sys"), (1, "", "tsd: no name matches sys\n"))
    check("a name that HBase cannot hold", (tsd("uid", "assign", "metrics", "\u03b1")[0], tsd("uid", "grep", "\u03b1")[0]), (1, 1))
    for words in (("assign", "metrics", "a b"), ("rename", "tagv", "other", "ex=am ple")):
        code, _, said = tsd("uid", *words)
        check("a name that no daemon accepts", (code, "illegal character" in said), (1, True))
    check("a rename", tsd("uid", "rename", "tagv", "other", "third")[:2], (0, "tagv other -> third\n"))
    check("a name is in use", tsd("uid", "rename", "tagv", "third", "web\xf6")[0], 1)
    check("a delete", (tsd("uid", "delete", "tagv", "third"), tsd("uid", "delete", "tagv", "third")[0]), ((0, "", ""), 1))
    check("there are no trees", tsd("uid", "treesync"), (0, "0 series read\n", ""))
    check("all of it fits", tsd("uid", "fsck"), (0, "4 names analyzed\nNo errors found.\n", ""))

    # damage of names
    put(g, uid, b"lost", b"id", b"metrics", b"\0\0\x07")
    put(g, uid, b"\0", b"id", b"tagv", struct.pack(">q", 0))
    code, out, err = tsd("uid", "fsck")
    check("damage of names", (code, out, err), (3, "damage: no_reverse: metrics: The id 000007 of the name \"lost\" has no name.\ndamage: counter_low: metrics: The counter is 2, but there is the id 7.\n5 names analyzed\n"
                                                   "2 errors found.\n", "tsd: tsd uid fsck fix --hbase corrects them\n"))
    check("is repaired", tsd("uid", "fsck", "fix")[0::2], (0, ""))
    check("and has gone", tsd("uid", "fsck")[0], 0)
    put(g, uid, b"dam", b"id", b"metrics", b"\0\6")
    put(g, uid, b"\0\0\6", b"name", b"metrics", b"dam")
    put(g, uid, b"web\xf7\n", b"id", b"tagv", b"\0\2")
    code, out, err = tsd("uid", "fsck")
    check("entries are named", (code, sorted(out.splitlines()[:3])), (3, ["damage: no_forward: metrics: The name \"dam\" of the id 000006 has 0006, which is no id."] +
          ["damage: uid_length: %s: What the name \"%s\" has is no id, %s: an id has 2 bytes, but those of %s have 3." % words for words in (("metrics", "dam", "0006", "metrics"), ("tagv", "web\xf7?", "0002", "tag values"))]))
    holds("with what mends them", "tsd uid fsck fix --hbase corrects the others" in err and "2 ids have another length" in err, err)
    check("others are found all the same", tsd("uid", "grep", "tagv", "web"), (3, "tagv web\xf6: [0, 0, 1]\n", "tsd: what HBase's table has of 1 more name that matches is no id; tsd uid fsck --hbase lists damage\n"))
    for words in (("uid", "dam"), ("scan", "2012/12/31", "2013/01/02", "sum", "dam")):
        code, _, err = tsd(*words)
        holds("what needs a damaged entry names it", code == 1 and "the entry of the metric \"dam\" in table %s is damaged; run tsd uid fsck --hbase" % uid in err and "later" not in err, (code, err))
    holds("fsck says so, too", "3 faults; --fix repairs 1, no option repairs 2\n" in tsd("fsck")[1], tsd("fsck"))
    holds("what no option repairs is left", "1 error is left" in tsd("uid", "fsck", "fix")[2])
    check("an id that still shows its name is given back", tsd("uid", "dam")[1], "metrics dam: [0, 0, 6]\n")
    check("a damaged name is deleted", tsd("uid", "delete", "tagv", "web\xf7\n")[0] + tsd("uid", "delete", "metrics", "dam")[0], 0)
    check("and nothing is left of both", tsd("uid", "fsck")[0], 0)

    # damage of rows
    good = {(b"t", b"\0\0"): b"\x07", (b"t", b"\x00\x10\x00\x20"): b"\x01\x02\0"}
    other = bytes.fromhex("000001" "50e23510" "000001000001")
    for (family, q), value in good.items():
        put(g, data, other, family, q, value)
    put(g, data, KEY, b"t", b"\0\x0b", bytes.fromhex("0000000040866666"))  # an old float
    put(g, data, KEY, b"t", b"\0\x10", b"\1")
    put(g, data, KEY, b"t", b"\0\x11", b"\1\1", OLD + 5)  # another value of the same second
    put(g, data, KEY, b"t", b"\0\x25", b"\1\2\3")  # no integer has 3 bytes
    put(g, data, KEY, b"t", b"\1\0\0", b"{")  # an annotation that is none
    put(g, data, bytes.fromhex("000001" "50e22700"), b"t", b"\0\0", b"\1")  # no tags
    put(g, data, bytes.fromhex("000001" "50e22700" "000001000009"), b"t", b"\0\0", b"\1")  # no such value
    want = {"bad_key": 1, "orphan": 1, "bad_value": 1, "bad_annotation": 1, "duplicate_point": 1, "old_encoding": 1}
    none = {k: 0 for k in want}
    check("damage of rows", fsck()[:3], (4, want, none))
    listed = fsck("--verbose")[3]
    check("is listed", sorted(r["fault"] for r in listed), sorted(want))
    check("with row and column", [(r["table"], r["row"], r["column"]) for r in listed if r["fault"] == "duplicate_point"], [(data, KEY.hex().upper(), "0010")])
    check("of one metric", fsck("--metric", "sys.mem")[:2], (0, {}))
    check("of one time", fsck("--from", "1357002000", "--to", "1357005600")[:2], (0, {}))
    check("some is repaired", fsck("--fix")[:3], (4, want, {**none, "old_encoding": 1}))
    del want["old_encoding"]
    check("the oldest one stays", fsck("--duplicates", "oldest")[2]["duplicate_point"], 1)
    del want["duplicate_point"]
    check("the rest goes", fsck("--delete", "values,columns,rows,orphans")[:3], (1, want, want))
    check("and nothing is left", tsd("fsck")[:2], (0, "5 names, 2 rows, 4 cells, 5 points, 0 annotations\nclean\n"))
    rows = dict(g.scan(data))
    check("good points are there", rows, {KEY: {(b"t", b"\0\x0b"): bytes.fromhex("40866666"), (b"t", b"\0\x10"): b"\1"}, other: good})
    scanned = tsd("scan", "2013/01/01-00:00:00", "2013/01/01-00:59:59", "none", "sys.cpu", "host=web\xf6")
    day = "(Tue Jan 01 00:00:%02d UTC 2013)"
    check("a scan shows them as OpenTSDB does", scanned, (0, "[0, 0, 1, 80, -30, 39, 0, 0, 0, 1, 0, 0, 1] sys.cpu 1356998400 %s {host=web\xf6}\n" % (day % 0) +
          "  [0, 11]\t[64, -122, 102, 102]\t0\tf\t1356998400\t%s\n" % (day % 0) + "  [0, 16]\t[1]\t1\tl\t1356998401\t%s\n" % (day % 1), ""))
    lines = tsd("scan", "--import", "2013/01/01-00:00:00", "2013/12/31", "none", "sys.cpu", "none", "sys.mem")
    check("or as lines of import", (lines[0], lines[1].splitlines()[:2], len(lines[1].splitlines()), lines[2]),
          (0, ["sys.cpu 1356998400 %s host=web\xf6" % "4.199999809265137", "sys.cpu 1356998401 1 host=web\xf6"], 5, ""))
    check("of metrics with stars", tsd("scan", "--import", "2013/01/01-00:00:00", "2013/12/31", "none", "sys.*"), lines)
    check("of none with stars", tsd("scan", "2013/01/01", "none", "nobody*")[::2], (1, "tsd: No metric matches 'nobody*'\n"))
    check("of an unknown metric", tsd("scan", "2013/01/01", "none", "nobody")[::2], (1, "tsd: No such name for 'metrics': 'nobody'\n"))
    check("it deletes nothing", tsd("scan", "--delete", "2013/01/01", "2013/01/02", "none", "sys.cpu")[0], 2)
    check("no scratch folder stays", [n for n in os.listdir(folder.name) if n.startswith("tsd-scan")], [])
    code, out, err = tsd("fsck", "--fix-all")
    check("rows become one column", (code, "2 rows became one column\n" in out, err), (0, True, ""))
    check("a scan shows the same", tsd("scan", "2013/01/01-00:00:00", "2013/01/01-00:59:59", "none", "sys.cpu", "host=web\xf6"), scanned)
    check("with all points", dict(g.scan(data)), {KEY: {(b"t", b"\0\x0b\0\x10"): bytes.fromhex("408666660100")}, other: {(b"t", b"\0\0\0\x10\0\x20"): b"\x07\x01\x02\0"}})

    # wrong usage
    for words, said in ((("--duplicates", "both"), "--duplicates is newest or oldest"), (("--delete", "all,x"), "is none of values"), (("--data", "x"), "--data a folder: give only one of the two"),
                        (("--repair",), "--repair belongs to --data; with --hbase, --fix repairs"),
                        (("--from", "x"), "x"), (("--format", "xml"), "--format is text|json")):
        code, out, err = tsd("fsck", *words)
        check("wrong usage: %s" % (words,), (code, said in err), (2, True))
    code, out, err = tsd("fsck", "--metric", "nobody")
    check("a metric that does not exist", (code, "nobody" in err), (8, True))
    rollups(g, data, config, fsck)
    g.drop_all(tables)
    folder.cleanup()
    return end("hbase_fsck")


if __name__ == "__main__":
    sys.exit(main())
