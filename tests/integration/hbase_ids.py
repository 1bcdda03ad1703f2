#!/usr/bin/env python3
"""Ids and names with HBase behind the daemon: clients see the ids of tsdb-uid, and names and series that only HBase has; HBase may be away.
TSD_HBASE_GATEWAY=HOST:PORT names a Thrift2 gateway; tables are made with a prefix of their own."""
import json
import os
import struct
import sys
import time
import urllib.parse

from hbase import HOUR, Relay, cells_of, create_tables, http_all, names, put_cell, stat
from metakit import ask, check, end, refused
from thrift2 import LIST, STRING, STRUCT, Gateway, field, list_of, struct_of, text
from tsdtest import Daemon, until

PREFIX = "tsd_ids_%d_" % os.getpid()
KINDS = {"metrics": b"metrics", "tagk": b"tagk", "tagv": b"tagv"}


def put(g, table, key, family, qualifier, value):
    cell = struct_of(field(1, STRING, text(family)), field(2, STRING, text(qualifier)), field(3, STRING, text(value)))
    g.call("put", field(1, STRING, text(table)), field(2, STRUCT, struct_of(field(1, STRING, text(key)), field(2, LIST, list_of(STRUCT, [cell])))))


def their_name(g, table, kind, name, number):
    """What OpenTSDB writes for a name, in the same order."""
    uid = number.to_bytes(3, "big")
    put(g, table, b"\0", b"id", KINDS[kind], struct.pack(">q", number))
    put(g, table, uid, b"name", KINDS[kind], name.encode())
    put(g, table, name.encode(), b"id", KINDS[kind], uid)


def their_series(g, tables):
    """far.m{h=there} with id 7 each, and two points of it; and unused names."""
    for kind, name in (("metrics", "far.m"), ("tagk", "h"), ("tagv", "there")):
        their_name(g, tables[1], kind, name, 7)
    their_name(g, tables[1], "metrics", "far.other", 8)
    their_name(g, tables[1], "metrics", "far.third", 9)
    row = b"\0\0\7" + struct.pack(">I", HOUR) + b"\0\0\7\0\0\7"
    put_cell(g, tables[0], row, struct.pack(">H", 10 << 4), b"\5")
    put_cell(g, tables[0], row, struct.pack(">H", 20 << 4), b"\6")


def ids_there(g, tables):
    return {kind: {name: key.upper() for key, name in of.items()} for kind, of in names(g.scan(tables[1])).items()}


def points(d, what, more=""):
    return d.api("/api/query?start=%d&end=%d&show_tsuids=true&%s%s" % (HOUR - 7200, HOUR + 7200, what, more))


def tsuids(d, what):
    return [t for r in points(d, what) for t in r["tsuids"]]


def suggest(d, kind, q, more=""):
    return d.api("/api/suggest?type=%s&q=%s%s" % (kind, q, more))


def lookup(d, m):
    return [(r["tsuid"], r["metric"], r["tags"]) for r in d.api("/api/search/lookup?limit=100&m=" + urllib.parse.quote(m))["results"]]


def ours(d, g, tables):
    """Points that HBase does not have yet (hbase_ship = hour): asking for a TSUID assigns the ids."""
    d.send("put near.m %d 1 h=here\nput near.m %d 2 h=there\n" % (HOUR + 1, HOUR + 2))
    d.sync()
    check("nothing has an id before", "near.m" in ids_there(g, tables).get("metrics", {}), False)
    got = tsuids(d, "m=none:near.m")
    uid = ids_there(g, tables)
    want = sorted(uid["metrics"]["near.m"] + uid["tagk"]["h"] + uid["tagv"][v] for v in ("here", "there"))
    check("TSUIDs are those of tsdb-uid", sorted(got), want)
    check("names that were there kept their ids", (uid["tagk"]["h"], uid["tagv"]["there"]), ("000007", "000007"))
    check("numbers of the catalog are others", uid["metrics"]["near.m"] != "000001", True)
    check("a query by TSUID", [r["tags"] for r in points(d, "tsuid=none:%s" % want[0])], [{"h": "there"}] if want[0].endswith("000007") else [{"h": "here"}])
    check("the last points", sorted(r["tsuid"] for r in d.api("/api/query/last?timeseries=near.m&resolve=true")), want)
    check("the last point by TSUID", [r["tsuid"] for r in d.api("/api/query/last?tsuids=" + want[0])], [want[0]])
    row = d.http("/api/scan?start=%d&end=%d&m=none:near.m%%7Bh=there%%7D" % (HOUR, HOUR + 60)).decode()
    key = [b - 256 if b > 127 else b for b in bytes.fromhex(uid["metrics"]["near.m"]) + struct.pack(">I", HOUR) + b"\0\0\7\0\0\7"]
    check("rows of a scan", row.startswith("[%s] near.m " % ", ".join(map(str, key))), True)
    return uid


def theirs(d):
    """A series that nobody has sent here."""
    check("its TSUID", tsuids(d, "m=none:far.m"), ["000007000007000007"])
    check("a query by it", [(r["metric"], sorted(r["dps"].values())) for r in points(d, "tsuid=none:000007000007000007")], [("far.m", [5, 6])])
    check("the last point by it", [(r["tsuid"], r["value"]) for r in d.api("/api/query/last?resolve=true&tsuids=000007000007000007")], [("000007000007000007", "6")])
    check("metadata of it", d.api("/api/uid/tsmeta?tsuid=000007000007000007")["metric"]["uid"], "000007")
    check("of a TSUID without names", ask(d, "GET", "/api/query?start=%d&m=sum:x&tsuid=none:0000FF0000FF0000FF" % HOUR)[0], 400)


def listed(d, uid):
    check("suggest merges", suggest(d, "metrics", ""), ["far.m", "far.other", "far.third", "near.m"])
    check("with a prefix", suggest(d, "metrics", "far."), ["far.m", "far.other", "far.third"])
    check("with a limit", suggest(d, "metrics", "", "&max=2"), ["far.m", "far.other"])
    check("each name once", suggest(d, "tagv", ""), ["here", "there"])
    for what, want in (("kind=metric&q=far", ["far.m", "far.other", "far.third"]), ("kind=tagk&metric=far.m", ["h"]), ("kind=tagv&metric=far.m&tagk=h", ["there"]),
                       ("kind=tagv&metric=near.m&tagk=h", ["here", "there"]), ("kind=tagv&metric=far.m&tagk=h&filter=h=*", ["there"]),
                       ("kind=tagk&metric=far.m&filter=h=her*", []), ("kind=tagk&metric=nobody.m", [])):
        check("names: " + what, d.api("/api/tsd/names?" + what), {"names": want, "more": False})
    near = [(uid["metrics"]["near.m"] + "000007" + uid["tagv"][v], "near.m", {"h": v}) for v in ("here", "there")]
    far = [("000007000007000007", "far.m", {"h": "there"})]
    check("lookup of ours", lookup(d, "near.m"), near)
    check("of theirs", lookup(d, "far.m"), far)
    check("by a tag", lookup(d, "{h=there}"), near[1:] + far)
    check("by a tag of one metric", lookup(d, "far.m{h=here}"), [])
    check("of a name that nobody has", ask(d, "GET", "/api/search/lookup?m=nobody.m")[0], 404)
    check("export", d.http("/api/export").decode().splitlines(), ["near.m %d 1 h=here" % (HOUR + 1), "near.m %d 2 h=there" % (HOUR + 2), "far.m %d 5 h=there" % (HOUR + 10), "far.m %d 6 h=there" % (HOUR + 20)])
    check("export of one of theirs", d.http("/api/export?metric=far.m&tag=h=there&from=%d" % (HOUR + 15)).decode().splitlines(), ["far.m %d 6 h=there" % (HOUR + 20)])


def assigned(d, g, tables):
    status, got = ask(d, "POST", "/api/uid/assign", {"metric": ["new.m", "far.m", "near.m"]})
    uid = ids_there(g, tables)["metrics"]
    check("a new name has the id of tsdb-uid", (status, got["metric"]), (400, {"new.m": uid["new.m"]}))
    check("names that exist say theirs", {k: v.split()[-1] for k, v in got["metric_errors"].items()}, {"far.m": "000007", "near.m": uid["near.m"]})
    check("metadata by uid", {k: v for k, v in d.api("/api/uid/uidmeta?type=metric&uid=" + uid["new.m"]).items() if k in ("uid", "name")}, {"uid": uid["new.m"], "name": "new.m"})
    check("of a name that only HBase has", {k: v for k, v in d.api("/api/uid/uidmeta?type=metric&uid=000008").items() if k in ("uid", "name")}, {"uid": "000008", "name": "far.other"})
    check("of an id without a name", ask(d, "GET", "/api/uid/uidmeta?type=metric&uid=0000EE")[0], 404)
    check("a rename", ask(d, "POST", "/api/uid/rename", {"metric": "new.m", "name": "newer.m"})[1], {"result": "true"})
    check("is one in tsdb-uid", ids_there(g, tables)["metrics"].get("newer.m"), uid["new.m"])
    names = ids_there(g, tables)["metrics"]
    d.talk("put unsent.m %d 1 h=here\n" % (time.time() // 3600 * 3600))  # an hour that is not over, which is not shipped
    for name in "newer.m", "far.m":
        check("a rename to the name of points that are not in HBase yet", ask(d, "POST", "/api/uid/rename", {"metric": name, "name": "unsent.m"}),
              (400, {"result": "false", "error": 'Name("unsent.m") already exists'}))
    check("changes nothing there", ids_there(g, tables)["metrics"], names)
    check("a name is not deleted", ask(d, "POST", "/api/uid/delete", {"metric": ["newer.m"]})[0], 400)


def annotated(d, g, tables):
    d.api("/api/annotation", {"tsuid": "000007000007000007", "startTime": HOUR + 15, "description": "theirs"})
    cell = cells_of(g, tables[0], b"\0\0\7" + struct.pack(">I", HOUR) + b"\0\0\7\0\0\7")["\1\0\x0f"]
    check("a note on their series", (json.loads(cell)["tsuid"], json.loads(cell)["description"]), ("000007000007000007", "theirs"))
    check("comes back", d.api("/api/annotation?tsuid=000007000007000007&start_time=%d" % (HOUR + 15))["tsuid"], "000007000007000007")
    check("on ids without names", ask(d, "POST", "/api/annotation", {"tsuid": "0000EE0000EE0000EE", "startTime": HOUR})[0] >= 400, True)


def away(d, relay):
    relay.cut()
    d.send("put away.m %d 1 h=here\n" % HOUR)
    d.sync()
    query = "/api/query?start=%d&end=%d&m=none:away.m&show_tsuids=true" % (HOUR, HOUR + 60)
    check("TSUIDs while HBase is away", http_all(d, query)[0], 503)
    status, body, headers = http_all(d, query + "&allow_partial=true")
    check("partial: none, and never a number of the catalog", (status, headers.get("X-Tsd-Partial"), json.loads(body)[0]["tsuids"]), (200, "remote store", []))
    check("assigning", refused(ask(d, "POST", "/api/uid/assign", {"metric": ["lost.m"]}))[0], 503)
    for path in ("/api/suggest?type=metrics&q=", "/api/search/lookup?m=near.m", "/api/export?metric=near.m"):
        check("503 for %s" % path, http_all(d, path)[0], 503)
    status, body, headers = http_all(d, "/api/suggest?type=metrics&q=&allow_partial=true")
    check("partial names", (status, headers.get("X-Tsd-Partial"), "away.m" in json.loads(body), "far.third" in json.loads(body)), (200, "remote store", True, False))
    status, body, headers = http_all(d, "/api/search/lookup?m=away.m&allow_partial=true")
    check("partial lookup", (status, headers.get("X-Tsd-Partial"), [(r["metric"], r.get("tsuid")) for r in json.loads(body)["results"]]), (200, "remote store", [("away.m", None)]))
    relay.open()
    until("HBase answers", lambda: stat(d, "tsd.hbase.up") == 1)
    check("with HBase the name has an id", len(until("a TSUID", lambda: tsuids(d, "m=none:away.m"))), 1)


def main():
    host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
    g = Gateway(host, int(port))
    tables = [PREFIX + name for name in ("tsdb", "tsdb-uid", "tsdb-tree", "tsdb-meta")]
    relay = Relay(host, int(port))
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), tables)}
    create_tables(host, port, keys)
    their_series(g, tables)
    keys.update(hbase_ship="hour", query_timeout_ms=3600000, meta_series="true", uid_allow_rename="true", uid_allow_delete="true")
    with Daemon(workers=2, remote="hbase", hbase_gateways="127.0.0.1:%d" % relay.port, **keys) as d:
        uid = ours(d, g, tables)
        theirs(d)
        listed(d, uid)
        assigned(d, g, tables)
        annotated(d, g, tables)
        away(d, relay)
    g.drop_all(tables)
    return end("hbase ids")


if __name__ == "__main__":
    sys.exit(main())
