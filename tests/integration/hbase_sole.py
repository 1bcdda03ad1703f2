#!/usr/bin/env python3
"""hbase_sole_writer: a query of times that are complete here sends nothing to HBase and needs none, others read it; the time is kept over a restart, and forgotten
when the key is switched off. TSD_HBASE_GATEWAY=HOST:PORT as for hbase.py."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from hbase import Relay, create_tables, http_all
from metakit import check, end, holds
from thrift2 import Gateway
from tsdtest import Daemon

PREFIX = "tsd_sole_%d_" % os.getpid()
SOON = (int(time.time()) // 3600 + 48) * 3600  # more than a day after the next full hour: series are looked for in the day before a query, too
READS = (b"getMultiple", b"getScannerResults", b"openScanner", b"getScannerRows")


class CountingRelay(Relay):
    """Counts the requests that read a table."""

    table, n = b"", 0

    def passed(self, data):
        if self.table and self.table in data:
            CountingRelay.n += sum(data.count(word) for word in READS)


def main():
    host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
    g = Gateway(host, int(port))
    tables = [PREFIX + name for name in ("tsdb", "tsdb-uid", "tsdb-tree", "tsdb-meta")]
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), tables)}
    create_tables(host, port, keys)
    relay = CountingRelay(host, int(port))
    relay.table = tables[0].encode()
    keys.update(remote="hbase", hbase_gateways="127.0.0.1:%d" % relay.port, hbase_ship=3600, workers=2)

    def ask(d, start, what="sum:hs.m", more=""):
        """Status, sum of all points, and how often HBase was read."""
        before = CountingRelay.n
        code, body = http_all(d, "/api/query?start=%d&end=%d&m=%s%s" % (start, SOON + 7200, what, more))[:2]
        return code, body, CountingRelay.n - before

    def reads(d, start, *more):
        code, _, n = ask(d, start, *more)
        check("a query from %d" % (start - SOON), code, 200)
        return n

    with Daemon(hbase_sole_writer="true", **keys) as d:
        d.send("put hs.m %d 1 h=a\nput hs.m %d 2 h=b\nput hs.m %d 4 h=a\n" % (SOON, SOON + 1, SOON - 100 * 3600))
        d.sync()
        holds("what was before is read from HBase", reads(d, SOON - 200 * 3600) > 0)
        for what in ("sum:hs.m", "none:hs.m{h=*}", "max:10m-avg:hs.m{h=a}", "count:1h-count:hs.m{h=literal_or(a|b)}"):
            check("what is complete is not: " + what, reads(d, SOON, what), 0)
        check("with global annotations neither", reads(d, SOON, "sum:hs.m", "&global_annotations=true"), 0)
        d.restart()
        check("nor after a restart", reads(d, SOON), 0)
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
