#!/usr/bin/env python3
"""A daemon and an OpenTSDB write to the same rows, at the same time. The OpenTSDB is played by this script, which does through Thrift2 what OpenTSDB does: it
gives ids to names, puts a cell for each point at once, appends, and compacts rows: one column for all points, then deletes of the cells that it has read.

    hbase_writers.py [--seed N] [--steps N]      TSD_HBASE_GATEWAY=HOST:PORT as for hbase.py

All is random, by the seed. The daemon overwrites points of both with numbers of every size, also those that are in compacted and in append columns. After each step
the table must have what was written last at each time, and nothing else; at any time no row may have two values of one time in different cells, which
OpenTSDB refuses to read. No name has two ids, no id two names. At the end a daemon with an empty folder must answer the same as the one that has written.

What two OpenTSDBs may not do either is left out: to put different values at one time for the first time, and to overwrite a point while the other one compacts its row.
"""
import argparse
import os
import random
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from hbase import HOUR, create_tables, names
from metakit import check, end, holds
from thrift2 import I64, LIST, STRING, STRUCT, Failed, Gateway, field, list_of, struct_of, text
from tsdtest import Daemon, until

PREFIX = "tsd_two_%d_" % os.getpid()
KINDS = (b"metrics", b"tagk", b"tagv")
APPENDS = b"\5\0\0"      # qualifier of the append column
RACE = HOUR - 7 * 3600   # the hour of the points by which the daemon gives ids
LAST_S = 3599            # this second of an hour is the daemon's: once it was sent, no other one is new to HBase from here


def column(family, qualifier, value):
    return struct_of(field(1, STRING, text(family)), field(2, STRING, text(qualifier)), field(3, STRING, text(value)))


class OpenTSDB:
    """The other writer; a connection of its own."""

    def __init__(self, host, port, tables):
        self.g, self.data, self.uid = Gateway(host, port), *tables[:2]

    def put_of(self, row, cells):
        return struct_of(field(1, STRING, text(row)), field(2, LIST, list_of(STRUCT, [column(*c) for c in cells])))

    def put(self, table, row, cells):
        self.g.call("put", field(1, STRING, text(table)), field(2, STRUCT, self.put_of(row, cells)))

    def get(self, table, row):
        """{(family, qualifier): value}; an empty row has none."""
        got = self.g.call("get", field(1, STRING, text(table)), field(2, STRUCT, struct_of(field(1, STRING, text(row)))))
        return {(c[1], c[2]): c[3] for c in got.get(2, [])}

    def put_if_absent(self, row, family, qualifier, value):
        return bool(self.g.call("checkAndPut", field(1, STRING, text(self.uid)), field(2, STRING, text(row)), field(3, STRING, text(family)),
                                field(4, STRING, text(qualifier)), field(6, STRUCT, self.put_of(row, [(family, qualifier, value)]))))

    def id_of(self, kind, name):
        """The id of a name, which gets one if it has none: UniqueId.getOrCreateId."""
        while True:
            known = self.get(self.uid, name).get((b"id", kind))
            if known:
                return known
            one = struct_of(field(1, STRING, text(b"id")), field(2, STRING, text(kind)), field(3, I64, struct.pack(">q", 1)))
            got = self.g.call("increment", field(1, STRING, text(self.uid)),
                              field(2, STRUCT, struct_of(field(1, STRING, text(b"\0")), field(2, LIST, list_of(STRUCT, [one])))))
            uid = got[2][0][3][5:]
            if self.put_if_absent(uid, b"name", kind, name) and self.put_if_absent(name, b"id", kind, uid):
                return uid

    def append(self, row, data):
        self.g.call("append", field(1, STRING, text(self.data)),
                    field(2, STRUCT, struct_of(field(1, STRING, text(row)), field(2, LIST, list_of(STRUCT, [column(b"t", APPENDS, data)])))))

    def compact(self, row):
        """CompactionQueue: read, put one column of all points, delete the cells that were read."""
        cells = {q: v for (_, q), v in self.get(self.data, row).items() if q != APPENDS}
        points = sorted((offset, q, v) for qualifier, data in cells.items() for offset, q, v in points_of(qualifier, data))
        kept = [p for i, p in enumerate(points) if i == 0 or points[i - 1][0] != p[0]]   # duplicates are equal
        if len(cells) < 2:
            return
        mixed = len({len(q) for _, q, _ in kept}) > 1
        qualifier = b"".join(q for _, q, _ in kept)
        self.put(self.data, row, [(b"t", qualifier, b"".join(v for _, _, v in kept) + (b"\1" if mixed else b"\0"))])
        gone = [struct_of(field(1, STRING, text(b"t")), field(2, STRING, text(q))) for q in cells if q != qualifier]
        if gone:
            self.g.call("deleteSingle", field(1, STRING, text(self.data)),
                        field(2, STRUCT, struct_of(field(1, STRING, text(row)), field(2, LIST, list_of(STRUCT, gone)))))


def points_of(qualifier, data):
    """(offset in ms, qualifier, value) of the points of a cell."""
    if qualifier == APPENDS:
        at = 0
        while at < len(data):
            n = 4 if data[at] & 0xf0 == 0xf0 else 2
            q = data[at:at + n]
            size = (q[-1] & 7) + 1
            yield offset_of(q), q, data[at + n:at + n + size]
            at += n + size
        return
    at = used = 0
    while at < len(qualifier):
        n = 4 if qualifier[at] & 0xf0 == 0xf0 else 2
        q = qualifier[at:at + n]
        size = (q[-1] & 7) + 1
        yield offset_of(q), q, data[used:used + size]
        at, used = at + n, used + size


def offset_of(q):
    return (struct.unpack(">I", q)[0] & 0x0fffffc0) >> 6 if len(q) == 4 else (struct.unpack(">H", q)[0] >> 4) * 1000


def number_of(q, data):
    return struct.unpack(">f" if len(data) == 4 else ">d", data)[0] if q[-1] & 8 else int.from_bytes(data, "big", signed=True)


def encoded(offset, number):
    """(qualifier, value) of a point as OpenTSDB writes it."""
    if isinstance(number, float):
        exact = struct.unpack(">f", struct.pack(">f", number))[0] == number
        data, flag = struct.pack(">f" if exact else ">d", number), 8
    else:
        size = next(n for n in (1, 2, 4, 8) if -1 << 8 * n - 1 <= number < 1 << 8 * n - 1)
        data, flag = number.to_bytes(size, "big", signed=True), 0
    flag |= len(data) - 1
    return (struct.pack(">I", 0xf0000000 | offset << 6 | flag) if offset % 1000 else struct.pack(">H", offset // 1000 << 4 | flag)), data


def some_number(rng):
    """Of any size; floats that have 4 bytes and that need 8; numbers with the bytes of one another."""
    bits = rng.choice([7, 7, 15, 31, 62])
    return rng.choice([rng.getrandbits(bits), -rng.getrandbits(bits) - 1, rng.getrandbits(8) / 4, rng.getrandbits(20) / 1000, -rng.random(), 1065353216, 1.0, 1])


class Rows:
    """What the table must have: {(series, hour): {offset in ms: number}}."""

    def __init__(self, rng, tables, ids):
        self.rng, self.tables, self.ids, self.want = rng, tables, ids, {}
        self.appending = {(s, h): rng.random() < 0.3 for s in "ab" for h in range(-3, 1)}

    def key(self, row):
        series, hour = row
        return self.ids[b"metrics", b"two.m"] + struct.pack(">I", HOUR + hour * 3600) + self.ids[b"tagk", b"h"] + self.ids[b"tagv", series.encode()]

    def new_offset(self, row):
        while True:
            offset = self.rng.randrange(0, LAST_S) * 1000 + (self.rng.randrange(1, 1000) if self.rng.random() < 0.3 else 0)
            if offset not in self.want[row]:
                return offset

    def read(self, g):
        """(points, texts of contradictions) of the table."""
        have, bad = {}, []
        keys = {self.key(row): row for row in self.want}
        for key, cells in g.rows(self.tables[0]):
            row, seen = keys.get(key), {}
            if struct.unpack_from(">I", key, 3)[0] == RACE:
                continue
            if row is None:
                bad.append("row %s, which nobody wrote" % key.hex())
                continue
            for (_, qualifier), data in cells.items():
                own = {}
                for offset, q, v in points_of(qualifier, data):
                    own[offset] = (q, v)      # the later one wins within an append column
                for offset, (q, v) in own.items():
                    if seen.setdefault(offset, (q[-1] & 15, v)) != (q[-1] & 15, v):
                        bad.append("row %s has two values at %d ms: %r and %r" % (key.hex(), offset, seen[offset], (q[-1] & 15, v)))
                    have.setdefault(row, {})[offset] = number_of(q, v)
        return have, bad


def race_ids(d, host, port, tables, rng):
    """Both give ids to the same names, and to others. The ids of the names."""
    shared = [b"two.m", b"h", b"a", b"b"]
    tags = [b"v%d" % i for i in range(40)]
    mine, ours = (rng.sample(tags, 30) for _ in range(2))
    found, problems = {}, []

    def assign(part):
        other = OpenTSDB(host, port, tables)
        try:
            for kind, name in part:
                found[kind, name] = other.id_of(kind, name)
        except (Failed, OSError) as e:
            problems.append(repr(e))

    wanted = list(zip((b"metrics", b"tagk", b"tagv", b"tagv"), shared)) + [(b"tagv", t) for t in mine]
    rng.shuffle(wanted)
    threads = [threading.Thread(target=assign, args=(wanted[i::2],)) for i in range(2)]
    for t in threads:
        t.start()
    d.send("".join("put two.m %d 1 h=%s\n" % (RACE, t.decode()) for t in ours))
    d.sync()
    for t in threads:
        t.join()
    check("OpenTSDB gets ids", problems, [])
    g = Gateway(host, port)
    until("all names have ids", lambda: len(names(g.scan(tables[1])).get("tagv", {})) >= len(set(mine) | set(ours) | {b"a", b"b"}))
    until("points of all names", lambda: len(g.scan(tables[0])) == len(ours))
    forward = {(kind, key): uid for key, cells in g.scan(tables[1]) if key != b"\0" for (family, kind), uid in cells.items() if family == b"id" and kind in KINDS}
    back = {(kind, uid): name for uid, cells in g.scan(tables[1]) for (family, kind), name in cells.items() if family == b"name" and kind in KINDS}
    check("an id of each name shows the name", [n for (kind, n), uid in forward.items() if back.get((kind, uid)) != n], [])
    check("no id belongs to two names", len({(kind, uid) for (kind, _), uid in forward.items()}), len(forward))
    check("OpenTSDB's ids are those in the table", [n for n, uid in found.items() if forward.get(n) != uid], [])
    return forward


def line(row, offset, number):
    series, hour = row
    return "put two.m %d %r h=%s\n" % ((HOUR + hour * 3600) * 1000 + offset if offset % 1000 else HOUR + hour * 3600 + offset // 1000, number, series)


def their_points(rows, other, n):
    """OpenTSDB writes new points, in rows of either kind. A list of calls, and what they add."""
    calls, add = [], []
    for _ in range(n):
        row = rows.rng.choice(list(rows.want))
        offset, number = rows.new_offset(row), some_number(rows.rng)
        q, v = encoded(offset, number)
        rows.want[row][offset] = number
        if rows.appending[row]:
            calls.append((other.append, rows.key(row), q + v))
        else:
            calls.append((other.put, other.data, rows.key(row), [(b"t", q, v)]))
        add.append((row, offset))
    return calls, add


def our_points(rows, n, sparing):
    """Lines for the daemon: overwrites of anything but what is being written by the other one, and new points."""
    out = []
    for _ in range(n):
        row = rows.rng.choice(list(rows.want))
        old = [o for o in rows.want[row] if (row, o) not in sparing]
        offset = rows.rng.choice(old) if old and rows.rng.random() < 0.7 else rows.new_offset(row)
        rows.want[row][offset] = some_number(rows.rng)
        out.append(line(row, offset, rows.want[row][offset]))
    return out


def settled(rows, g, what):
    """Wait until the table has what it must have, and look for contradictions all the time."""
    contradictions, have = [], {}

    def same():
        nonlocal have
        have, bad = rows.read(g)
        contradictions.extend(bad)
        return bad or have == rows.want

    def wrong():
        return [(r, o, have.get(r, {}).get(o), rows.want.get(r, {}).get(o)) for r in rows.want for o in have.get(r, {}).keys() | rows.want[r].keys()
                if have.get(r, {}).get(o) != rows.want[r].get(o)][:3]
    try:
        until("the table", same, 120)
    except SystemExit:
        holds(what + ": the table has what was written last (row, offset, there, wanted)", False, wrong())
        return False
    check(what + ": no contradictions", contradictions[:3], [])
    return not contradictions


def step(rng, d, g, rows, other, number):
    """Both write; then the daemon is quiet, and OpenTSDB compacts rows while the daemon writes to others."""
    what = "step %d" % number
    calls, sparing = their_points(rows, other, rng.randrange(1, 25))
    lines = our_points(rows, rng.randrange(1, 40), set(sparing))
    threads = [threading.Thread(target=lambda: [f(*args) for f, *args in calls])]
    threads[0].start()
    for part in (lines[:len(lines) // 2], lines[len(lines) // 2:]):
        d.send("".join(part))
        if rng.random() < 0.3:
            d.sync()
    threads[0].join()
    d.sync()
    if not settled(rows, g, what):
        return False
    compacted = [row for row in rows.want if rng.random() < 0.5]
    for row in [row for row in rows.want if row not in compacted][:1]:
        offset = rng.choice(list(rows.want[row]))
        rows.want[row][offset] = some_number(rng)
        d.send(line(row, offset, rows.want[row][offset]))
    for row in compacted:
        other.compact(rows.key(row))
    d.sync()
    return settled(rows, g, what + ", compacted")


def answers(d, rows):
    out = {}
    for r in d.api("/api/query?start=%d&end=%d&arrays=true&ms=true&m=none:two.m" % (HOUR - 3 * 3600, HOUR + 3600)):
        for t, v in r["dps"]:
            hour = (t // 1000 - HOUR) // 3600
            out.setdefault((r["tags"]["h"], hour), {})[t - (HOUR + hour * 3600) * 1000] = v
    return out


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--steps", type=int, default=6)
    a = ap.parse_args()
    rng = random.Random(a.seed)
    host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
    port = int(port)
    g = Gateway(host, port)
    tables = [PREFIX + "%d_" % a.seed + name for name in ("tsdb", "tsdb-uid", "tsdb-tree", "tsdb-meta")]
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), tables)}
    create_tables(host, str(port), keys)
    keys.update(remote="hbase", hbase_gateways="%s:%d" % (host, port), query_timeout_ms=600000)
    with Daemon(workers=rng.choice([1, 2]), hbase_ship="at_once", hbase_compact=rng.choice(["true", "false"]), **keys) as d:
        rows = Rows(rng, tables, race_ids(d, host, port, tables, rng))
        other = OpenTSDB(host, port, tables)
        rows.want = {row: {LAST_S * 1000: 1} for row in rows.appending}
        d.send("".join(line(row, LAST_S * 1000, 1) for row in rows.want))
        d.sync()
        good = settled(rows, g, "the last second")
        for number in range(1, a.steps + 1):
            if good and rng.random() < 0.2:
                d.restart()
            good = good and step(rng, d, g, rows, other, number)
        if good:
            check("the daemon answers what was written", answers(d, rows), rows.want)
            with Daemon(workers=2, **keys) as empty:
                check("an empty one too", answers(empty, rows), rows.want)
    g.drop_all(tables)
    return end("hbase_writers, seed %d" % a.seed)


if __name__ == "__main__":
    sys.exit(main())
