#!/usr/bin/env python3
"""hbase_sole_writer: a query of any kind of times that are complete here sends nothing to HBase and needs none, others read it; the time is kept over a restart and a
kill, and forgotten when the key is switched off. TSD_HBASE_GATEWAY=HOST:PORT as for hbase.py."""
import json
import os
import signal
import struct
import sys
import time
import urllib.error

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from hbase import Relay, create_tables, http_all, stat
from metakit import check, end, holds
from thrift2 import Gateway
from tsdtest import Daemon, until

PREFIX = "tsd_sole_%d_" % os.getpid()
SOON = (int(time.time()) // 3600 + 2) * 3600  # what is complete begins with the next full hour, or this one if that begins before the daemon does
READS = (b"getMultiple", b"getScannerResults", b"openScanner", b"getScannerRows")


SAMPLE = b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"  # of keys, which the daemon looks at when HBase has answered


class CountingRelay(Relay):
    """Counts the requests of queries that read a table."""

    table, n = b"", 0

    def passed(self, data):
        if self.table and self.table in data and SAMPLE not in data:
            CountingRelay.n += sum(data.count(word) for word in READS)


def main():
    host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
    g = Gateway(host, int(port))
    tables = [PREFIX + name for name in ("tsdb", "tsdb-uid", "tsdb-tree", "tsdb-meta")]
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), tables)}
    create_tables(host, port, keys)
    relay = CountingRelay(host, int(port))
    relay.table = struct.pack(">i", len(tables[0])) + tables[0].encode()  # other names begin alike
    keys.update(remote="hbase", hbase_gateways="127.0.0.1:%d" % relay.port, hbase_ship=1, workers=2)

    def ask(d, start, what="sum:hs.m", more=""):
        """Status, sum of all points, and how often HBase was read."""
        before = CountingRelay.n
        code, body = http_all(d, "/api/query?start=%d&end=%d&m=%s%s" % (start, SOON + 7200, what, more))[:2]
        return code, body, CountingRelay.n - before

    def reads_of(d, name, path, body=None, want=200):
        """How often HBase was read for any request."""
        before = CountingRelay.n
        try:
            text, code = d.http(path.replace(" ", "%20"), body and body.encode()).decode(), 200
        except urllib.error.HTTPError as e:
            text, code = e.read().decode(), e.code
        check("%s: status" % name, (code, text if code != want else ""), (want, ""))
        holds("%s: the answer has what it is about: %s" % (name, text), any(word in text for word in ("hs.m", "outputs", "\"a\"", "[]")))
        return CountingRelay.n - before

    def reads(d, start, *more):
        code, _, n = ask(d, start, *more)
        check("a query from %d" % (start - SOON), code, 200)
        return n

    with Daemon(hbase_sole_writer="true", **keys) as d:
        d.send("put hs.m %d 1 h=a\nput hs.m %d 2 h=b\nput hs.m %d 4 h=a\n" % (SOON, SOON + 1, SOON - 100 * 3600))
        d.sync()
        until("all of it is in HBase", lambda: sum(len(cells) for cells in dict(g.scan(tables[0])).values()) == 3 and stat(d, "tsd.hbase.backlog_points") == 0)
        holds("what was before is read from HBase", reads(d, SOON - 200 * 3600) > 0)
        for what in ("sum:hs.m", "none:hs.m{h=*}", "max:10m-avg:hs.m{h=a}", "count:1h-count:hs.m{h=literal_or(a|b)}"):
            check("what is complete is not: " + what, reads(d, SOON, what), 0)
        check("with global annotations neither", reads(d, SOON, "sum:hs.m", "&global_annotations=true"), 0)
        formula = json.dumps({"time": {"start": str(SOON), "end": str(SOON + 7200), "aggregator": "sum"},
                              "filters": [{"id": "f", "tags": [{"type": "wildcard", "tagk": "h", "filter": "*", "groupBy": True}]}],
                              "metrics": [{"id": "a", "metric": "hs.m", "filter": "f", "fillPolicy": {"policy": "nan"}}],
                              "expressions": [{"id": "e", "expr": "a * 2"}], "outputs": [{"id": "e"}, {"id": "a"}]})
        window = "start=%d&end=%d" % (SOON, SOON + 7200)
        for name, path, body in (("last points", "/api/query/last?timeseries=hs.m&resolve=true", None),
                                 ("last points of one series", "/api/query/last?timeseries=hs.m{h=b}&resolve=true", None),
                                 ("a formula", "/api/query/exp", formula),
                                 ("a function", "/api/query/gexp?%s&exp=scale(sum:hs.m,2)" % window, None),
                                 ("totals", "/api/query?%s&m=sum:hs.m&by=h" % window, None),
                                 ("totals with empty cells", "/api/query?%s&m=sum:hs.m&by=h,hour&fill=zero" % window, None),
                                 ("a histogram", "/api/query?%s&m=sum:percentiles[50]:hs.m" % window, None),
                                 ("an export", "/api/export?metric=hs.m&from=%d" % SOON, None)):
            n = reads_of(d, name, path, body)
            if name != "a histogram":  # it has no points
                check(name + " sends nothing to HBase", n, 0)
        holds("last points of an old time read HBase", reads_of(d, "old last points", "/api/query/last?timeseries=hs.m&resolve=true&back_scan=100000") > 0)
        d.restart()
        check("nor after a restart", reads(d, SOON), 0)
        d.stop(signal.SIGKILL)
        d.start()
        check("nor after a kill", reads(d, SOON), 0)
        relay.cut()
        check("HBase may be away", ask(d, SOON)[0], 200)
        check("but not for the rest", ask(d, SOON - 200 * 3600)[0], 503)
        relay.open()
        d.keys["hbase_sole_writer"] = "false"
        d.restart()
        holds("without the key HBase is read", reads(d, SOON) > 0)
    g.drop_all(tables)
    return end("hbase_sole")


if __name__ == "__main__":
    sys.exit(main())
