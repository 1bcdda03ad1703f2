#!/usr/bin/env python3
"""Trees in tsdb-tree beside OpenTSDB, metadata made and deleted by tsd uid --hbase, and rows that HBase refuses: TSD_HBASE_GATEWAY=HOST:PORT names a Thrift2 gateway;
tables are made with a prefix of their own."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from hbase import HOUR, Relay, create_tables
from metakit import ask, check, end, holds, refused
from thrift2 import LIST, STRING, STRUCT, Gateway, field, list_of, struct_of, text
from tsdtest import Daemon, until

PREFIX = "tsd_meta_%d_" % os.getpid()
TREE = {"name": "Hosts", "description": "", "notes": "", "strictMatch": False, "created": 0, "enabled": True, "storeFailures": False}
RULE = {"type": "TAGK", "field": "h", "regex": "", "separator": "", "description": "", "notes": "", "level": 0, "order": 0, "treeId": 0, "customField": "",
        "regexGroupIdx": 0, "displayFormat": ""}


def plain(document):
    return json.dumps(document, separators=(",", ":")).encode()


def put(g, table, key, family, qualifier, value):
    cell = struct_of(field(1, STRING, text(family)), field(2, STRING, text(qualifier)), field(3, STRING, text(value)))
    g.call("put", field(1, STRING, text(table)), field(2, STRUCT, struct_of(field(1, STRING, text(key)), field(2, LIST, list_of(STRUCT, [cell])))))


def row(g, table, key):
    """Cells of a row of family t, by qualifier."""
    return {q: value for (_, q), value in dict(g.scan(table)).get(key, {}).items()}


def trees(d, g, table, relay):
    """Trees of both programs, and changes by both."""
    made = ask(d, "POST", "/api/tree", {"name": "Ours", "enabled": "true"})
    check("a tree is made", (made[0], made[1]["treeId"], made[1]["name"]), (200, 1, "Ours"))
    check("with OpenTSDB's bytes", row(g, table, b"\0\1"), {b"tree": plain({**TREE, "name": "Ours", "created": made[1]["created"]})})
    check("rules", ask(d, "POST", "/api/tree/rules", [{"treeId": 1, "level": 0, "order": 0, "type": "TAGK", "field": "h"},
                                                      {"treeId": 1, "level": 1, "order": 0, "type": "METRIC"}])[0], 204)
    check("are cells of their own", row(g, table, b"\0\1").get(b"tree_rule:0:0"), plain({**RULE, "treeId": 1}))
    check("all of them", sorted(row(g, table, b"\0\1")), [b"tree", b"tree_rule:0:0", b"tree_rule:1:0"])
    # theirs
    put(g, table, b"\0\4", b"t", b"tree", plain({**TREE, "name": "Theirs"}))
    put(g, table, b"\0\4", b"t", b"tree_rule:0:0", plain({**RULE, "treeId": 4, "field": "h"}))
    put(g, table, b"\0\4", b"t", b"branch", b"{}")
    check("theirs are seen", [(t["treeId"], t["name"]) for t in ask(d, "GET", "/api/tree")[1]], [(1, "Ours"), (4, "Theirs")])
    check("with rules", ask(d, "GET", "/api/tree/rule?treeid=4&level=0&order=0")[1]["field"], "h")
    check("and have branches", sorted(b["displayName"] for b in ask(d, "GET", "/api/tree/branch?treeid=4")[1]["leaves"]), ["a", "b"])
    check("the next one comes behind", ask(d, "POST", "/api/tree", {"name": "Next"})[1]["treeId"], 5)
    put(g, table, b"\0\1", b"t", b"tree_rule:0:0", plain({**RULE, "treeId": 1, "notes": "changed there"}))
    check("their change is seen", ask(d, "GET", "/api/tree/rule?treeid=1&level=0&order=0")[1]["notes"], "changed there")
    check("and kept", ask(d, "POST", "/api/tree/rule", {"treeId": 1, "level": 0, "order": 0, "displayFormat": "{value}"})[0], 200)
    check("with ours", row(g, table, b"\0\1")[b"tree_rule:0:0"], plain({**RULE, "treeId": 1, "notes": "changed there", "displayFormat": "{value}"}))
    check("of theirs", ask(d, "POST", "/api/tree", {"treeId": 4, "description": "ours"})[0], 200)
    check("the branch stays", row(g, table, b"\0\4")[b"branch"], b"{}")
    check("a rule is deleted", ask(d, "DELETE", "/api/tree/rule?treeid=1&level=1&order=0")[0], 204)
    check("there too", sorted(row(g, table, b"\0\1")), [b"tree", b"tree_rule:0:0"])
    relay.cut()
    check("HBase is away", refused(ask(d, "POST", "/api/tree", {"treeId": 1, "notes": "x"}))[0], 503)
    check("nothing has changed", ask(d, "GET", "/api/tree?treeid=1")[1]["notes"], "")
    relay.open()
    until("HBase answers again", lambda: ask(d, "POST", "/api/tree", {"treeId": 1, "notes": "x"})[0] == 200)
    check("a tree is deleted", ask(d, "DELETE", "/api/tree?treeid=1&definition=true")[0], 204)
    check("with all its cells", row(g, table, b"\0\1"), {})
    check("here, too", refused(ask(d, "GET", "/api/tree?treeid=1"))[0], 404)


def java_hash(name):
    h = 0
    for c in name:
        h = (31 * h + ord(c)) & 0xffffffff
    return struct.pack(">I", h)


def branches(g, uid, tree, series, tsd):
    """Branches and leaves of all series with metadata, as OpenTSDB's treesync stores them."""
    ids = {(q, key): v for key, cells in g.scan(uid) for (f, q), v in cells.items() if f == b"id"}
    put(g, uid, ids[b"tagv", b"a"], b"name", b"tagv_meta", plain({"type": "TAGV", "custom": {"owner": "ops"}}))
    put(g, tree, b"\0\6", b"t", b"tree", plain({**TREE, "name": "Split", "strictMatch": True, "storeFailures": True}))
    put(g, tree, b"\0\6", b"t", b"tree_rule:0:0", plain({**RULE, "type": "METRIC", "separator": ".", "treeId": 6}))
    put(g, tree, b"\0\6", b"t", b"tree_rule:1:0", plain({**RULE, "type": "TAGV_CUSTOM", "field": "h", "customField": "owner", "displayFormat": "{tag_name} {value} {tsuid}",
                                                        "level": 1, "treeId": 6}))
    a, b = (next(key for key in series if key.endswith(ids[b"tagv", v])) for v in (b"a", b"b"))
    off = "tree 5 Next: not enabled, it gets no branches (POST /api/tree with enabled=true)\n"
    check("treesync", tsd("treesync"), (0, "2 series read\ntree 4 Theirs: 2 leaves made\n" + off + "tree 6 Split: 3 branches made\ntree 6 Split: 1 leaves made\n"
                                        "tree 6 Split: 1 series have no leaf: no rule matches\n", ""))
    check("leaves of the root", {q: json.loads(v) for q, v in row(g, tree, b"\0\4").items() if q.startswith(b"leaf:")},
          {b"leaf:" + java_hash(name): {"displayName": name, "tsuid": key.hex().upper()} for name, key in (("a", a), ("b", b))})
    check("the branch that was there stays", row(g, tree, b"\0\4")[b"branch"], b"{}")
    check("the root", row(g, tree, b"\0\6")[b"branch"], plain({"path": {"0": "ROOT"}, "displayName": "ROOT"}))
    hm = b"\0\6" + java_hash("hm")
    check("a branch", row(g, tree, hm), {b"branch": plain({"path": {"0": "ROOT", "1": "hm"}, "displayName": "hm"})})
    leaf = "owner ops " + a.hex().upper()
    check("with its own", row(g, tree, hm + java_hash("m")), {
        b"branch": plain({"path": {"0": "ROOT", "1": "hm", "2": "m"}, "displayName": "m"}),
        b"leaf:" + java_hash(leaf): plain({"displayName": leaf, "tsuid": a.hex().upper()})})
    check("failures are stored", row(g, tree, b"\0\6\2"), {b"tree_not_matched:" + b: b"No rule of level 1 matched, and the tree is strict"})
    put(g, tree, b"\0\4", b"t", b"leaf:" + java_hash("b"), plain({"displayName": "b", "tsuid": "000009000009000009"}))
    stored = dict(g.scan(tree))
    check("once more", tsd("treesync"), (0, "2 series read\ntree 4 Theirs: 1 leaves were there\ntree 4 Theirs: 1 series have no leaf: another series has it\n" + off +
                                         "tree 6 Split: 1 leaves were there\ntree 6 Split: 1 series have no leaf: no rule matches\n", ""))
    check("changes nothing", dict(g.scan(tree)), stored)
    check("of one tree", tsd("treesync", "6")[1].splitlines()[1:], ["tree 6 Split: 1 leaves were there", "tree 6 Split: 1 series have no leaf: no rule matches"])
    check("that is not enabled", tsd("treesync", "5"), (0, "0 series read\n" + off, ""))
    code, out, err = tsd("treesync", "7")
    check("that does not exist", (code, out, "has no tree 7" in err), (1, "0 series read\n", True))
    check("no such number", tsd("treesync", "0")[0::2], (2, "tsd: \"0\" is not the id of a tree (1 to 65535); see tsd help uid\n"))


def metadata(g, tables, tsd):
    uid, tree, meta = tables[1:]
    before = dict(g.scan(uid))
    code, out, err = tsd("metasync")
    check("metasync", (code, [line.split(" ", 1)[1] for line in out.splitlines()], err), (0, ["rows read", "names got metadata", "series got metadata", "series got a counter"], ""))
    check("all names have it", out.splitlines()[1:3], ["4 names got metadata", "2 series got metadata"])
    names = {q: json.loads(v) for cells in dict(g.scan(uid)).values() for (_, q), v in cells.items() if q.endswith(b"_meta")}
    check("of all kinds", {q: (v["type"], v["created"]) for q, v in names.items()},
          {b"metric_meta": ("METRIC", HOUR), b"tagk_meta": ("TAGK", HOUR), b"tagv_meta": ("TAGV", HOUR)})
    series = dict(g.scan(meta))
    check("documents and counters of series", sorted(sorted(q for _, q in cells) for cells in series.values()), [[b"ts_ctr", b"ts_meta"]] * 2)
    check("their ids", sorted(json.loads(cells[(b"name", b"ts_meta")])["tsuid"] for cells in series.values()), sorted(key.hex().upper() for key in series))
    check("only once", tsd("metasync"), (0, out.splitlines()[0] + "\n", ""))
    branches(g, uid, tree, series, tsd)
    check("metapurge", tsd("metapurge"), (0, "%d cells deleted\n" % (4 + 2 * 2), ""))
    check("names stay", (dict(g.scan(uid)), dict(g.scan(meta))), (before, {}))
    check("treepurge", tsd("treepurge", "4"), (0, "3 cells deleted\n", ""))
    check("the tree stays", sorted(row(g, tree, b"\0\4")), [b"tree", b"tree_rule:0:0"])
    check("all of it", tsd("treepurge", "4", "definition"), (0, "2 cells deleted\n", ""))
    check("no such number", tsd("treepurge", "65536")[0::2], (2, "tsd: \"65536\" is not the id of a tree (1 to 65535); see tsd help uid\n"))


def main():
    host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
    g = Gateway(host, int(port))
    tables = [PREFIX + name for name in ("tsdb", "tsdb-uid", "tsdb-tree", "tsdb-meta")]
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), tables)}
    create_tables(host, port, keys)
    relay = Relay(host, int(port))
    keys.update(remote="hbase", hbase_gateways="127.0.0.1:%d" % relay.port, hbase_ship=1, workers=2, meta_allow_delete="true")

    def tsd(*words):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
            f.write("".join("%s = %s\n" % (k, v) for k, v in keys.items() if k.startswith("hbase_") or k == "remote"))
            f.flush()
            p = subprocess.run([os.environ["TSD"], "uid", *words, "--hbase", "--config", f.name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               encoding="utf-8", check=False)
        return p.returncode, p.stdout, p.stderr

    with Daemon(workers=2) as d:
        many = " ".join("k%d=v" % i for i in range(9))
        d.send("put hm.many %d 1 %s\n" % (HOUR, many))
        d.sync()
        check("no HBase, nothing is refused", d.api("/api/admin/refused"), [])
        d.keys.update(keys)
        d.restart()
        d.send("put hm.m %d 1 h=a\nput hm.m %d 2 h=b\n" % (HOUR + 3600, HOUR + 1))
        d.send("put hm.m %d 1 h=a\n" % HOUR)
        d.sync()
        until("rows that HBase cannot hold are listed", lambda: d.api("/api/admin/refused"))
        r = d.api("/api/admin/refused")
        check("one row", [(x["metric"], len(x["tags"]), x["hour"]) for x in r], [("hm.many", 9, HOUR)])
        holds("now", abs(r[0]["refused"] - time.time()) < 600, r)
        holds("with the reason", "8" in r[0]["reason"] and r[0]["times"] >= 1, r)
        until("all others are sent", lambda: len(dict(g.scan(tables[0]))) == 3)
        trees(d, g, tables[2], relay)
        metadata(g, tables, tsd)
    g.drop_all(tables)
    return end("hbase_meta")


if __name__ == "__main__":
    sys.exit(main())
