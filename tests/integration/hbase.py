#!/usr/bin/env python3
"""A daemon with HBase behind it: what is put arrives there in OpenTSDB's bytes, what others write there is answered, HBase may be away, and
what was shipped may be removed here. TSD_HBASE_GATEWAY=HOST:PORT names a Thrift2 gateway, of a real HBase or the fake one; tables are made with a prefix of their own."""
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from metakit import ask, check, end, refused
from thrift2 import LIST, STRING, STRUCT, Gateway, field, list_of, struct_of, text
from tsdtest import Daemon, free_port, until

HOUR = int(time.time()) // 3600 * 3600 - 100 * 3600  # an hour that is over
PREFIX = "tsd_it_%d_" % os.getpid()


class Relay:
    """Passes connections on to the gateway until it is cut; listens on one port all the time."""

    def __init__(self, host, port):
        self.to, self.port, self.server, self.pairs = (host, port), free_port(), None, []
        self.lock = threading.Lock()
        self.open()

    def open(self):
        self.server = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, args=(self.server,), daemon=True).start()

    def accept(self, server):
        while True:
            try:
                a = server.accept()[0]
            except OSError:
                return
            try:
                b = socket.create_connection(self.to)
            except OSError:
                a.close()
                continue
            with self.lock:
                self.pairs.append((a, b))
            for one, other in ((a, b), (b, a)):
                threading.Thread(target=self.copy, args=(one, other), daemon=True).start()

    def passed(self, data):
        """Called with each piece before it is passed on."""

    def copy(self, one, other):
        try:
            while data := one.recv(1 << 16):
                self.passed(data)
                other.sendall(data)
        except OSError:
            pass
        for s in (one, other):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        """Refuse connections from now on, and end those that are there."""
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for s in pair:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


def points(rows):
    """(metric id, hour, tag ids) -> {second: value}, from columns of one point and compacted ones."""
    out = {}
    for key, cells in rows:
        cells = {column: value for column, value in cells.items() if column[1][:1] != b"\1" or len(column[1]) % 2 == 0}  # no annotations
        if not cells:
            continue
        row = out.setdefault((key[:3].hex(), struct.unpack(">I", key[3:7])[0], key[7:].hex()), {})
        for (family, qualifier), value in cells.items():
            assert family == b"t" and len(qualifier) % 2 == 0, (family, qualifier)
            for i in range(0, len(qualifier), 2):
                q = struct.unpack(">H", qualifier[i:i + 2])[0]
                n = (q & 7) + 1
                part, value = value[:n], value[n:]
                row[q >> 4] = struct.unpack({4: ">f", 8: ">d"}[n], part)[0] if q & 8 else int.from_bytes(part, "big", signed=True)
            assert value in ((b"", b"\0", b"\1") if len(qualifier) > 2 else (b"",)), value
    return out


def names(rows):
    """kind -> {id: name} of the table of ids."""
    out = {}
    for key, cells in rows:
        for (family, kind), name in cells.items():
            if family == b"name" and kind in (b"metrics", b"tagk", b"tagv"):
                out.setdefault(kind.decode(), {})[key.hex()] = name.decode("latin-1")
    return out


def stat(d, metric, **tags):
    return sum(float(r["value"]) for r in d.api("/api/stats") if r["metric"] == metric and all(r["tags"].get(k) == v for k, v in tags.items()))


def query(d, metric):
    """By value of tag h: {second of HOUR: value}."""
    rows = d.api("/api/query?start=%d&end=%d&m=none:%s" % (HOUR - 7200, HOUR + 7200, metric))
    return {r["tags"]["h"]: {int(t) - HOUR: v for t, v in r["dps"].items()} for r in rows}


def log(d):
    with open(d.log.name, encoding="utf-8", errors="replace") as f:
        return f.read()


def shipped(g, tables, want):
    """Wait until the data table has these points."""
    until("points %r in HBase" % want, lambda: points(g.scan(tables[0])) == want)


def put_cell(g, table, key, qualifier, value, family=b"t"):  # pylint: disable=too-many-arguments,too-many-positional-arguments
    cell = struct_of(field(1, STRING, text(family)), field(2, STRING, text(qualifier)), field(3, STRING, text(value)))
    g.call("put", field(1, STRING, text(table)), field(2, STRUCT, struct_of(field(1, STRING, text(key)), field(2, LIST, list_of(STRUCT, [cell])))))


def bytes_and_names(d, g, tables):
    d.send("put hb.m %d 42 h=a\nput hb.m %d -300 h=a\nput hb.m %d 4.5 h=k\xf6ln\n" % (HOUR, HOUR + 10, HOUR + 3599))
    d.sync()
    ids = until("ids of four names", lambda: (lambda n: n if sum(map(len, n.values())) == 4 else None)(names(g.scan(tables[1]))))
    back = {kind: {name: key for key, name in of.items()} for kind, of in ids.items()}
    check("names have ids", {k: sorted(v.values()) for k, v in ids.items()}, {"metrics": ["hb.m"], "tagk": ["h"], "tagv": ["a", "k\xf6ln"]})
    m, k = back["metrics"]["hb.m"], back["tagk"]["h"]
    want = {(m, HOUR, k + back["tagv"]["a"]): {0: 42, 10: -300}, (m, HOUR, k + back["tagv"]["k\xf6ln"]): {3599: 4.5}}
    shipped(g, tables, want)
    check("the points are in HBase", points(g.scan(tables[0])), want)
    check("and are answered", query(d, "hb.m"), {"a": {0: 42, 10: -300}, "k\xf6ln": {3599: 4.5}})
    a = bytes.fromhex(m + k + back["tagv"]["a"])
    until("its points are counted", lambda: cells_of(g, tables[3], a).get("ts_ctr") == "\0" * 7 + "\2")
    check("and it has metadata", '"tsuid":"%s"' % a.hex().upper() in until("metadata", lambda: cells_of(g, tables[3], a).get("ts_meta")), True)
    return want, m, k + back["tagv"]["a"]


def other_writer(d, g, tables, want, metric, tags):
    key = bytes.fromhex(metric) + struct.pack(">I", HOUR) + bytes.fromhex(tags)
    put_cell(g, tables[0], key, struct.pack(">H", 20 << 4), b"\x07")
    want[(metric, HOUR, tags)][20] = 7
    check("what another writer has put is answered", query(d, "hb.m")["a"], {0: 42, 10: -300, 20: 7})


def away_and_back(d, g, tables, relay, want, metric, tags):
    until("HBase answers", lambda: stat(d, "tsd.hbase.up") == 1)
    relay.cut()
    d.send("put hb.m %d 5 h=a\n" % (HOUR + 30))
    d.sync()
    check("points are accepted while HBase is away", stat(d, "tsd.rpc.errors", type="hbase_errors"), 0)
    until("the log says that HBase is away", lambda: "HBase does not answer" in log(d))
    check("the statistics too", (stat(d, "tsd.hbase.up"), stat(d, "tsd.hbase.outages") >= 1), (0, True))
    got = subprocess.run([os.environ["TSD"], "check", "--port", str(d.port)], stdout=subprocess.PIPE)
    check("so does tsd check", (got.returncode, b"; HBase does not answer: " in got.stdout), (1, True))
    relay.open()
    want[(metric, HOUR, tags)][30] = 5
    shipped(g, tables, want)
    until("the log says that HBase is back", lambda: "HBase answers again" in log(d))
    said = re.findall("HBase (does not answer|answers again)", log(d))
    check("once each time", [a for a, b in zip(said, said[1:]) if a == b], [])
    check("and all is answered", query(d, "hb.m")["a"], {0: 42, 10: -300, 20: 7, 30: 5})


def reship(d, g, tables, want):
    """What HBase has lost after it had acknowledged it."""
    lost = [(m, hour, tags) for m, hour, tags in want if want[(m, hour, tags)] == {3599: 4.5}]
    check("one row to lose", len(lost), 1)
    m, hour, tags = lost[0]
    g.call("deleteSingle", field(1, STRING, text(tables[0])), field(2, STRUCT, struct_of(field(1, STRING, text(bytes.fromhex(m) + struct.pack(">I", hour) + bytes.fromhex(tags))))))
    shipped(g, tables, {k: v for k, v in want.items() if k != lost[0]})
    tsd = [os.environ["TSD"], "hbase", "reship", "--port", str(d.port), "--to", str(HOUR + 5), "--from"]
    got = subprocess.run([*tsd, str(HOUR + 3600)], stderr=subprocess.PIPE)
    check("a range that ends before it begins", (got.returncode, b"--from %d is later than --to %d" % (HOUR + 3600, HOUR + 5) in got.stderr), (2, True))
    subprocess.run([*tsd, str(HOUR + 5)], check=True, stdout=subprocess.DEVNULL)
    shipped(g, tables, want)


def memory(d):
    accounts = {a["account"]: a for a in d.api("/api/admin/memory")["accounts"]}
    check("replies and ids have an account", [accounts.get("hbase", {}).get(k) for k in ("within", "key", "limitBytes")], ["process", "hbase_memory_bytes", 256 << 20])
    check("which they use", accounts.get("hbase", {}).get("peakBytes", 0) > 0, True)


def cells_of(g, table, key):
    return {q.decode("latin-1"): value.decode("latin-1") for row, cells in g.scan(table) if row == key for (_, q), value in cells.items()}


def note(tsuid, start, text, ids):
    """What a client is told, and OpenTSDB's bytes."""
    told = {"tsuid": tsuid, "description": text, "notes": "", "startTime": start, "endTime": 0}
    return told, '{"tsuid":"%s","startTime":%d,"endTime":0,"description":"%s","notes":"","custom":null}' % (ids, start, text)


def annotations(d, g, tables, relay, metric, tags):
    """Written to HBase first; what others write there is read; 503 while it is away."""
    tsuid = d.api("/api/query?start=%d&end=%d&show_tsuids=true&m=none:hb.m%%7Bh=a%%7D" % (HOUR, HOUR + 60))[0]["tsuids"][0]
    key, ids = bytes.fromhex(metric) + struct.pack(">I", HOUR) + bytes.fromhex(tags), (metric + tags).upper()
    path, start = "/api/annotation?tsuid=%s&start_time=%d" % (tsuid, HOUR + 7), HOUR + 7
    told, stored = note(tsuid, start, "ours", ids)
    check("an annotation is accepted", d.api("/api/annotation", {"tsuid": tsuid, "startTime": start, "description": "ours"}), told)
    check("and is in HBase in OpenTSDB's bytes", cells_of(g, tables[0], key)["\1\0\7"], stored)
    told, stored = note(tsuid, start, "theirs", ids)
    put_cell(g, tables[0], key, b"\1\0\7", stored.encode())
    check("what another writer has made of it is answered", d.api(path), told)
    d.api("/api/annotation", {"tsuid": tsuid, "startTime": start, "notes": "n"})
    stored = stored.replace('"notes":""', '"notes":"n"')
    check("and a change keeps what it does not concern", cells_of(g, tables[0], key)["\1\0\7"], stored)
    d.api("/api/annotation", {"startTime": HOUR, "description": "everywhere"})
    everywhere = cells_of(g, tables[0], b"\0\0\0" + struct.pack(">I", HOUR))
    check("a global one", list(everywhere.values()), ['{"startTime":%d,"endTime":0,"description":"everywhere","notes":"","custom":null}' % HOUR])
    uid = tsuid[:6]
    d.api("/api/uid/uidmeta", {"uid": uid, "type": "metric", "displayName": "D"})
    check("metadata of a name", '"displayName":"D"' in cells_of(g, tables[1], bytes.fromhex(metric))["metric_meta"], True)
    d.api("/api/uid/tsmeta", {"tsuid": tsuid, "units": "s"})
    check("metadata of a series", '"units":"s"' in cells_of(g, tables[3], bytes.fromhex(ids))["ts_meta"], True)
    relay.cut()
    status, said = refused(ask(d, "POST", "/api/annotation", {"tsuid": tsuid, "startTime": start, "notes": "lost"}))
    check("503 while HBase is away", (status, said.startswith("hbase, which keeps annotations")), (503, True))
    check("for deletes, too", ask(d, "DELETE", path)[0], 503)
    check("and nothing has changed", d.api(path)["notes"], "n")
    relay.open()
    until("a delete", lambda: ask(d, "DELETE", path)[0] == 204)
    check("is one in HBase", "\1\0\7" in cells_of(g, tables[0], key), False)


def http_all(d, path, method=None):
    """Status, body and headers, also of an error."""
    try:
        with urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:%d%s" % (d.port, path), method=method), timeout=300) as f:
            return f.status, f.read().decode(), f.headers
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode(), e.headers


def ask_points(d, more=""):
    """Status, mark and body of a query for what other_writer has put too."""
    status, body, headers = http_all(d, "/api/query?start=%d&end=%d&m=none:hb.m{h=a}%s" % (HOUR - 7200, HOUR + 7200, more))
    return status, headers.get("X-Tsd-Partial"), body


def partial_answers(d, relay):
    here = {"0": 42, "10": -300, "30": 5}  # 20 is in HBase alone
    d.keys["query_timeout_ms"] = 3600000  # a query does not wait that long for an HBase that is away
    d.restart()
    relay.cut()
    status, mark, body = ask_points(d)
    check("a query that needs HBase fails", (status, mark, "hbase" in json.loads(body)["error"]["message"]), (503, None, True))
    check("also with allow_partial=false", ask_points(d, "&allow_partial=false")[0], 503)
    status, mark, body = ask_points(d, "&allow_partial=true&show_summary")
    series, summary = json.loads(body)
    check("unless it allows a partial answer", (status, mark, {str(int(t) - HOUR): v for t, v in series["dps"].items()}), (200, "remote store", here))
    check("whose summary says so too", summary["statsSummary"]["partial"], True)
    status, mark, body = ask_points(d, "&allow_partial=true&format=csv")
    check("as CSV", (status, mark, len(body.split())), (200, "remote store", 1 + len(here)))
    words = ("query", "--port", str(d.port), str(HOUR - 7200), str(HOUR + 7200), "none", "hb.m", "h=a")
    p = d.run(*words, check=False)
    check("tsd query fails", (p.returncode != 0, "hbase" in p.stderr), (True, True))
    p = d.run(*words, "--allow-partial", check=False)
    check("tsd query --allow-partial prints what is here", (p.returncode, len(p.stdout.splitlines()), "partial" in p.stderr), (0, len(here), True))
    d.keys["query_allow_delete"] = "true"
    d.keys["compat"] = "opentsdb"
    d.restart()
    check("a delete is never partial", http_all(d, "/api/query?start=%d&end=%d&m=none:hb.m&allow_partial=true" % (HOUR, HOUR + 60), method="DELETE")[0], 424)
    check("with compat = opentsdb the status is OpenTSDB's", ask_points(d)[0], 424)
    del d.keys["compat"], d.keys["query_allow_delete"], d.keys["query_timeout_ms"]
    relay.open()
    d.restart()
    until("HBase answers", lambda: stat(d, "tsd.hbase.up") == 1)
    status, mark, body = ask_points(d, "&allow_partial=true")
    check("with HBase the answer is whole", (status, mark, len(json.loads(body)[0]["dps"])), (200, None, 1 + len(here)))


def refusals(d):
    got = d.talk(b"put \xcf\x87 %d 1 h=a\nput hb.m 4294967296000 1 h=a\n" % HOUR)
    check("what HBase cannot hold is refused", got.count(b"HBase's tables hold"), 2)
    check("and counted", stat(d, "tsd.rpc.errors", type="not_for_hbase"), 2)


def kept(d, g, tables, want):
    """Files of old points stay although their hours are shipped: they were shipped less than hbase_keep_local_h ago."""
    d.flush("compact")
    until("nothing waits for HBase", lambda: stat(d, "tsd.hbase.backlog_points") == 0)
    shipped(g, tables, want)
    check("files of shipped points stay", stat(d, "tsd.storage.files.points") > 0, True)


def read_back(answer, host, port, keys):
    """A daemon without data of its own answers from the tables."""
    with Daemon(workers=2, remote="hbase", hbase_gateways="%s:%d" % (host, port), **keys) as other:
        check("another daemon has no points", stat(other, "tsd.storage.files.points"), 0)
        check("and answers from HBase", query(other, "hb.m"), answer)


def missing_table(host, port, keys):
    """A table of ids that is missing is no HBase that does not answer: the log, tsd check and the tools name it, and what creates it."""
    name, mends = PREFIX + "none", "is missing or disabled; tsd hbase create-tables creates it, and one of the keys hbase_data_table, hbase_uid_table, hbase_tree_table and hbase_meta_table names it"
    with Daemon(workers=2, memory_limit="128M", remote="hbase", hbase_gateways="%s:%d" % (host, port), **dict(keys, hbase_uid_table=name)) as d:
        limits = {a["account"]: a["limitBytes"] for a in d.api("/api/admin/memory")["accounts"]}
        check("replies of HBase have half of what memory_limit leaves", limits["hbase"], limits["process"] // 2)
        until("the log names the table", lambda: "HBase does not serve the table of ids" in log(d))
        check("and what to do", "table %s %s" % (name, mends) in log(d), True)
        got = subprocess.run([os.environ["TSD"], "check", "--port", str(d.port)], stdout=subprocess.PIPE, encoding="utf-8")
        check("so does tsd check", (got.returncode, "HBase does not serve the table of ids: " in got.stdout, name in got.stdout, "start the gateways" in got.stdout), (1, True, True, False))
        with open(d.log.name + ".conf", "w", encoding="utf-8") as f:
            f.write("hbase_uid_table = %s\nhbase_gateways = %s:%d\n" % (name, host, port))
        got = subprocess.run([os.environ["TSD"], "uid", "grep", "x", "--hbase", "--config", d.log.name + ".conf"], stderr=subprocess.PIPE, encoding="utf-8")
        check("and tsd uid", (got.returncode, "table %s %s" % (name, mends) in got.stderr), (1, True))


def create_tables(host, port, keys):
    options = ["--gateways", host + ":" + port, "--format", "json"] + [w for k, v in keys.items() for w in ("--" + k.replace("_", "-"), v)]
    made = json.loads(subprocess.run([os.environ["TSD"], "hbase", "create-tables", "--split", "000002,000003", *options], check=True, stdout=subprocess.PIPE).stdout)
    check("tables are created", [(t["state"], len(t["regions"])) for t in made["tables"]], [("created", 3), ("created", 1), ("created", 1), ("created", 1)])


def main():
    host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
    g = Gateway(host, int(port))
    tables = [PREFIX + name for name in ("tsdb", "tsdb-uid", "tsdb-tree", "tsdb-meta")]
    relay = Relay(host, int(port))
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), tables)}
    create_tables(host, port, keys)
    relay.cut()  # HBase is away at the start: no error
    with Daemon(workers=2, remote="hbase", hbase_gateways="127.0.0.1:%d" % relay.port, hbase_ship=1, hbase_keep_local_h=24 * 365, hbase_series_counters="count", **keys) as d:
        until("the log says that HBase is away", lambda: "HBase does not answer" in log(d))
        relay.open()
        want, metric, tags = bytes_and_names(d, g, tables)
        other_writer(d, g, tables, want, metric, tags)
        refusals(d)
        d.flush("files")  # only shipped hours of files have marks
        reship(d, g, tables, want)
        memory(d)
        d.restart()
        open(d.log.name, "w").close()
        check("after a restart", query(d, "hb.m")["a"], {0: 42, 10: -300, 20: 7})
        away_and_back(d, g, tables, relay, want, metric, tags)
        annotations(d, g, tables, relay, metric, tags)
        partial_answers(d, relay)
        d.keys["hbase_keep_local_h"] = 1
        d.restart()
        kept(d, g, tables, want)
        answer = query(d, "hb.m")
    read_back(answer, host, int(port), keys)
    missing_table(host, int(port), keys)
    g.drop_all(tables)
    return end("hbase")


if __name__ == "__main__":
    sys.exit(main())
