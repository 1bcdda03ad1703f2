"""What kill.py compares: the table of HBase, read without a line of tsd's own code, and the answers of daemons, with what was sent."""
import json
import struct
import urllib.error
import urllib.parse

from kill_load import value

WINDOW = 50000    # times of a series that one query asks for


class Found:
    """Judges the points of one place against what was sent: add() each, then missing()."""

    def __init__(self, what, streams):
        self.what, self.bad, self.n = what, [], 0
        self.streams = {(st.metric(), str(st.number)): st for st in streams}
        self.seen = {(st, s): bytearray(len(st.last[s])) for st in streams for s in range(len(st.last))}

    def add(self, st, series, points):
        """Points (time, value) of a series, each time once."""
        first, last, seen, number = st.first[series], st.last[series], self.seen[st, series], st.number
        for t, got in points:
            self.n += 1
            k = st.number_of(series, t)
            if k is None:
                self.bad.append("%s: %s conn=%d s=%d time %d: %r was never sent" % (self.what, st.metric(), number, series, t, got))
                continue
            if seen[k]:
                self.bad.append("%s: %s conn=%d s=%d has time %d (number %d) twice" % (self.what, st.metric(), number, series, t, k))
            seen[k] = 1
            if value(number, series, k, last[k]) != got and got not in [value(number, series, k, v) for v in range(max(first[k], 1), last[k])]:
                self.bad.append("%s: %s conn=%d s=%d time %d (number %d): %r, version %d of %d is confirmed: %r" %
                                (self.what, st.metric(), number, series, t, k, got, first[k], last[k], [value(number, series, k, v) for v in range(1, last[k] + 1)]))

    def missing(self):
        for (st, series), seen in self.seen.items():
            for k in (k for k, (confirmed, there) in enumerate(zip(st.first[series], seen)) if confirmed and not there):
                self.bad.append("%s: %s conn=%d s=%d time %d (number %d) is missing, version %d of %d is confirmed" %
                                (self.what, st.metric(), st.number, series, st.time(series, k), k, st.first[series][k], st.last[series][k]))
        return self.bad


def ask(d, url):
    try:
        return d.http(url)
    except urllib.error.HTTPError as e:
        text = e.read().decode()
        if "No such name" in text:
            return b"[]"
        return json.dumps([{"tags": {}, "dps": [], "error": text}]).encode()


def answers(daemon, empty, streams):
    """What is wrong with the answers of the daemon of the load, and of an empty one, which must be the same; and the number of points."""
    found, bad = Found("the daemon of the load", streams), []
    for st in streams:
        for series in range(len(st.last)):
            end = len(st.last[series])
            for a in range(0, end, WINDOW):
                b = a + WINDOW if a + WINDOW < end else end + 10**5
                m = "none:%s{conn=%d,s=%d}" % (st.metric(), st.number, series)
                url = "/api/query?arrays=true&ms=true&start=%d&end=%d&m=%s" % (st.time(series, a), st.time(series, b) - 1, urllib.parse.quote(m))
                one, other = ask(daemon, url), ask(empty, url)
                rows = json.loads(one)
                if len(rows) > 1:
                    bad.append("%d rows of one series: %r" % (len(rows), [r["tags"] for r in rows]))
                for r in rows:
                    found.add(st, series, r["dps"])
                bad += ["%s: %s" % (url, r["error"]) for r in rows if "error" in r]
                if one != other and [r["dps"] for r in rows] != [r["dps"] for r in json.loads(other)]:
                    bad.append(first_difference(url, rows, json.loads(other)))
    return found.missing() + bad, found.n


def first_difference(url, one, other):
    a, b = (dict(map(tuple, r[0]["dps"])) if r else {} for r in (one, other))
    t = min(t for t in a.keys() | b.keys() if a.get(t) != b.get(t))
    return "%s: the daemon of the load has %r at %d, HBase %r" % (url, a.get(t), t, b.get(t))


def cell_points(qualifier, data):
    """(offset in ms, is it a float, bytes) of the points of a cell of one or several."""
    single = len(qualifier) == (4 if qualifier[0] & 0xf0 == 0xf0 else 2)
    at = used = 0
    while at < len(qualifier):
        if qualifier[at] & 0xf0 == 0xf0:
            q = struct.unpack_from(">I", qualifier, at)[0]
            offset, at = (q & 0x0fffffc0) >> 6, at + 4
        else:
            q = struct.unpack_from(">H", qualifier, at)[0]
            offset, at = (q >> 4) * 1000, at + 2
        n = (q & 7) + 1
        yield offset, q & 8, data[used:used + n]
        used += n
    if len(data) - used != (0 if single else 1):
        raise ValueError("a cell with qualifier %s has %d bytes after its points" % (qualifier.hex(), len(data) - used))


def number(is_float, data):
    return struct.unpack(">f" if len(data) == 4 else ">d", data)[0] if is_float else int.from_bytes(data, "big", signed=True)


def names(g, table):
    """{(kind, id): name} of the table of ids; and what contradicts in it: names whose id belongs to another name."""
    back, forward = {}, {}
    for key, cells in g.rows(table):
        for (family, kind), data in cells.items():
            if family == b"name" and kind in (b"metrics", b"tagk", b"tagv"):
                back[kind, key] = data.decode()
            elif family == b"id" and key != b"\0":
                forward[kind, key.decode()] = data
    return back, ["name %s has id %s, which belongs to %s" % (name, uid.hex(), back.get((kind, uid))) for (kind, name), uid in forward.items() if back.get((kind, uid)) != name]


def table(g, tables, salt_width, streams):
    """What is wrong with the rows of the data table, as texts; number of rows, cells and points."""
    n_rows, n_cells, found = 0, 0, Found("the table", streams)
    known, bad = names(g, tables[1])
    for key, cells in g.rows(tables[0]):
        seen, at = {}, salt_width
        n_rows, n_cells = n_rows + 1, n_cells + len(cells)
        for (_, qualifier), data in cells.items():
            for offset, is_float, point in cell_points(qualifier, data):
                if seen.setdefault(offset, (is_float, point)) != (is_float, point):
                    bad.append("row %s has two values at offset %d ms: %r and %r" % (key.hex(), offset, seen[offset], (is_float, point)))
        metric, hour_ms = known.get((b"metrics", key[at:at + 3])), struct.unpack_from(">I", key, at + 3)[0] * 1000
        tags = {known.get((b"tagk", key[i:i + 3])): known.get((b"tagv", key[i + 3:i + 6])) for i in range(at + 7, len(key), 6)}
        st = found.streams.get((metric, tags.get("conn")))
        if not st or set(tags) != {"conn", "s"} or not str(tags["s"]).isdigit() or int(tags["s"]) >= len(st.last):
            bad.append("row %s of %s%r, which nobody sent" % (key.hex(), metric, tags))
            continue
        found.add(st, int(tags["s"]), ((hour_ms + offset, number(*point)) for offset, point in seen.items()))
    return bad + found.missing(), n_rows, n_cells, found.n
