#!/usr/bin/env python3
"""Replacing and deleting ranges with HBase behind the daemon (TSD_HBASE_GATEWAY=HOST:PORT, of a real HBase or the fake one): what a daemon that has nothing
itself reads from HBase is what the one that changed it shows; rows that are too large for a reply hold up nobody. Tables are made with a prefix of their own."""
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from metakit import ask, check, end, holds
from thrift2 import Gateway
from tsdtest import Daemon, until

T0 = 1700002800  # a full hour
N_LARGE = 20000
PREFIX = "tsd_replace_%d_" % os.getpid()


def stat(d, name):
    return sum(float(r["value"]) for r in d.api("/api/stats") if r["metric"] == name)


def points(d, metric="m.x"):
    rows = d.api("/api/query?start=%d&end=%d&m=none:%s" % (T0 - 10, T0 + 20000, metric))
    return {r["tags"]["host"]: r["dps"] for r in rows}


def settled(d):
    d.flush("files")
    until("everything is shipped", lambda: stat(d, "tsd.hbase.backlog_points") == 0)


def replacing(d, keys):
    d.send("".join("put m.x %d %d host=%s\n" % (T0 + i * 600, i, h) for h in "ab" for i in range(14)))
    d.sync()
    settled(d)
    query = urllib.parse.urlencode({"series": "m.x{host=a}", "start": T0 + 600, "end": T0 + 4200})
    body = [{"metric": "m.x", "timestamp": T0 + s, "value": v, "tags": {"host": "a"}} for s, v in ((600, 70000), (900, 1.5), (4000, 3))]
    check("replaced", ask(d, "PUT", "/api/series?" + query, body), (200, {"series": 1, "deleted": 7, "written": 3}))
    want = points(d)
    check("the new points are there", {k: v for k, v in want["a"].items() if T0 + 600 <= int(k) <= T0 + 4200},
          {str(T0 + 600): 70000, str(T0 + 900): 1.5, str(T0 + 4000): 3})
    check("and as many others", (len(want["a"]), len(want["b"])), (10, 14))
    settled(d)
    with Daemon(**keys) as other:
        until("HBase has the same", lambda: points(other) == want)  # the backlog counts points, not deletes under way


def large_rows(d, keys):
    """A row of more bytes than a reply may have is deleted all the same, and other points are shipped meanwhile."""
    d.send("".join("put big %d %d host=a\n" % (T0 * 1000 + i * 150, i) for i in range(N_LARGE)))
    d.sync()
    settled(d)
    status, answer = ask(d, "DELETE", "/api/delete?start=%d&end=%d&m=none:big" % (T0 - 1000 * 3600, T0 + 3599))
    check("it is deleted here", (status, answer["queries"][0]["points"]["count"] if status == 200 else answer), (200, N_LARGE))
    d.send("put small %d 1 host=a\n" % T0)
    d.sync()
    settled(d)
    holds("no pass has failed", stat(d, "tsd.storage.ship.errors") == 0, stat(d, "tsd.storage.ship.errors"))
    with Daemon(**keys) as other:
        until("it is deleted in HBase too", lambda: points(other, "big") == {})  # the backlog counts points, not deletes under way
        check("and the others are there", points(other, "small"), {"a": {str(T0): 1}})


def wrong_salts(keys):
    """A table that was made with other salts: no request fails, so the log says it, and fsck does not propose to repair everything."""
    with Daemon(**keys, hbase_salt_width=1, hbase_salt_buckets=20) as d:
        until("it is in the log", lambda: "have keys that do not fit hbase_salt_width" in open(d.log.name, encoding="utf-8").read(), 60)
        holds("readyz says it", "have keys that do not fit hbase_salt_width" in d.http("/readyz").decode())
        config = os.path.join(d.base, "conf")
        with open(config, "w", encoding="utf-8") as f:
            f.write("".join("%s = %s\n" % (k, v) for k, v in keys.items() if k.startswith("hbase_")))
        r = d.run("fsck", "--hbase", "--config", config, "--salt-width", "1", check=False)
        for fixes in (["--fix"], ["--fix-all"], ["--delete", "rows"]):
            no = d.run("fsck", "--hbase", "--config", config, "--salt-width", "1", *fixes, check=False)
            holds("and repairs nothing", no.returncode not in (0, 1) and "nothing was repaired" in no.stderr, no.stderr)
        for words in (("scan", "--hbase", "2013/01/01", "none", "m.y1"), ("copy", "--from", "hbase", "--to", os.path.join(d.base, "copy"), "--dry-run")):
            r2 = d.run(*words, "--config", config, "--salt-width", "1", check=False)
            holds("%s says it too" % words[0], "have keys that do not fit hbase_salt_width" in r2.stderr and "name the numbers" in r2.stderr, r2.stderr)
            holds("a copy is refused", words[0] == "scan" or r2.returncode != 0, r2)
            r2 = d.run(*words, "--config", config, check=False)
            holds("%s says nothing with the right ones" % words[0], "do not fit" not in r2.stderr, r2.stderr)
        holds("fsck says it too", "these are not the numbers with which the tables were made" in r.stdout, r.stdout + r.stderr)


def main():
    gateway = os.environ.pop("TSD_HBASE_GATEWAY")
    host, port = gateway.rsplit(":", 1)
    g = Gateway(host, int(port))
    names = g.create_opentsdb(PREFIX)
    keys = dict({"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), names)}, remote="hbase", hbase_gateways=gateway,
                hbase_ship="at_once", hbase_max_reply_bytes="1M", query_allow_delete="true")
    with Daemon(**keys) as d:
        replacing(d, keys)
        d.send("".join("put m.y%d %d 1 host=%d\n" % (i, T0, i) for i in range(20)))
        d.sync()
        settled(d)
        holds("the log says nothing about keys", "do not fit" not in open(d.log.name, encoding="utf-8").read())
        wrong_salts(keys)
        with Daemon(**keys) as other:
            check("after which all is there", points(other), points(d))
        if not os.environ.get("TEST_SANITIZE"):  # the fake one takes minutes for so many deletes then
            large_rows(d, keys)
    return end("hbase_replace")


if __name__ == "__main__":
    sys.exit(main())
