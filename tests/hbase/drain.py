#!/usr/bin/env python3
"""How fast a daemon sends a backlog to HBase, and reads it back, beside the bare sender of bench_ship in the same run.

    TSD=build/release/tsd TSD_HBASE_GATEWAY=127.0.0.1:9090 drain.py [--points N] [--shape 1 --shape 6 --shape 360] [--connections N]

Shape: points of a row (a series and an hour), 10 s apart, which are integers; all hours are over. 1 is what hbase_ship = at_once sends of points of 10 s, 6 what 60
sends, 360 whole hours. Series are known: their names have ids before. The points are put, and flushed, while a relay of the test refuses
connections. drain: from the first to the last point that HBase has acknowledged. bare: requests encoded before, as many connections. read:
sum over all series by hour, by a daemon with an empty folder; one: one series, one hour, the median of 21. Tables are dropped at the end.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from thrift2 import Gateway  # noqa: E402
from tsdtest import Daemon, binary, until  # noqa: E402

BENCH_CASE = {1: "0", 6: "2", 360: "3"}  # of bench_ship


def stat(d, metric):
    return sum(float(r["value"]) for r in d.api("/api/stats") if r["metric"] == metric)


def put(d, n_series, first_hour, n_hours, shape):
    """Hour by hour, in order of time."""
    for hour in range(first_hour, first_hour + n_hours):
        for i in range(shape):
            d.send("".join(["put drain %d %d dc=a host=h%d\n" % (hour * 3600 + i * 10, 1000 + (i * 37 + k * 11) % 20000, k) for k in range(n_series)]))
    d.sync()


def shipped(d):
    return stat(d, "tsd.hbase.shipped_points")


def drain(d, n):
    """Seconds from the first point to the last; the size of the steps between is that of a shipment."""
    began, before, first = None, 0, None
    while True:
        now, t = shipped(d) - before, time.monotonic()
        if now == 0 or began is None:
            began, first = t, now
        if now >= n:
            return (n - first) / (t - began)
        time.sleep(0.1)


def bare(a, address, shape):
    p = subprocess.run([os.path.join(os.path.dirname(binary()), "tests", "bench_ship"), str(a.seconds), str(a.connections), BENCH_CASE[shape]], check=True,
                       stdout=subprocess.PIPE, text=True, env=dict(os.environ, TSD_HBASE_PREFIX=a.prefix, TSD_HBASE_GATEWAY=address))
    out = dict(word.split("=") for word in p.stdout.split() if "=" in word)
    return float(out["bare_rows/s"]) * shape, float(out["points/s"])


def timed(d, path):
    began = time.monotonic()
    got = d.api(path)
    return time.monotonic() - began, got


def read(keys, n_series, first_hour, n_hours, shape):
    """Points a second of a sum over everything, and milliseconds of one series and hour."""
    with Daemon(workers=2, **keys) as empty:
        took, got = timed(empty, "/api/query?start=%d&end=%d&m=zimsum:1h-count:drain" % (first_hour * 3600, (first_hour + n_hours) * 3600 - 1))
        n = sum(v for r in got for v in r["dps"].values())
        if n != n_series * n_hours * shape:
            sys.exit("%d points were read of %d" % (n, n_series * n_hours * shape))
        one = "/api/query?start=%d&end=%d&m=none:drain{dc=a,host=h7}" % (first_hour * 3600, first_hour * 3600 + 3599)
        ms = [timed(empty, one)[0] * 1000 for _ in range(21)]
    return n / took, statistics.median(ms)


def measure(a, host, port, g, shape):
    tables = g.create_opentsdb("%sdrain%d_" % (a.prefix, shape))
    address = "%s:%d" % (host, port)
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), tables)}
    keys.update(remote="hbase", hbase_sole_writer="true", hbase_max_connections=a.connections + 2, hbase_ship_connections=a.connections)
    n_hours = max(a.points // (a.series * shape), 1)
    first_hour, n = int(time.time()) // 3600 - n_hours - 10, a.series * n_hours * shape
    with Daemon(workers=1, hbase_gateways=address, hbase_ship=1, hbase_keep_local_h=8760 * 10, **keys) as d:
        put(d, a.series, first_hour - 1, 1, 1)
        until("names have ids", lambda: shipped(d) >= a.series)
        d.stop()
        d.keys["hbase_ship"] = 86400  # nothing is sent in this life
        d.start()
        put(d, a.series, first_hour, n_hours, shape)
        d.flush("files")
        d.stop()
        d.keys["hbase_ship"] = 1
        d.start()
        rate = drain(d, n)
        until("nothing is left", lambda: stat(d, "tsd.hbase.backlog_points") == 0)
        print(" ".join("%s=%.0f" % (k, stat(d, "tsd.hbase." + k)) for k in ("shipped_points", "shipped_rows", "shipped_merged_rows", "shipments", "shipments_failed")))
    bare_rate, sender_rate = bare(a, address, shape)
    print("points_a_row=%d series=%d points=%d drain_points/s=%.0f sender_points/s=%.0f bare_points/s=%.0f drain/bare=%.2f" %
          (shape, a.series, n, rate, sender_rate, bare_rate, rate / bare_rate), flush=True)
    if not a.no_read:
        print("points_a_row=%d series=%d read_points/s=%.0f one_ms=%.1f" %
              (shape, a.series, *read(dict(keys, hbase_gateways=address), a.series, first_hour, n_hours, shape)), flush=True)
    for name in tables:
        g.drop(name)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--points", type=int, default=2000000)
    ap.add_argument("--shape", type=int, action="append", choices=sorted(BENCH_CASE))
    ap.add_argument("--series", type=int, default=1000)
    ap.add_argument("--connections", type=int, default=4)
    ap.add_argument("--seconds", type=int, default=5, help="of the bare sender")
    ap.add_argument("--no-read", action="store_true", help="do not read back")
    ap.add_argument("--prefix", default="tsd_drain_", help="of the names of tables")
    a = ap.parse_args()
    host, port = os.environ.pop("TSD_HBASE_GATEWAY").rsplit(":", 1)
    for shape in a.shape or sorted(BENCH_CASE):
        g = Gateway(host, int(port), 600)
        measure(a, host, int(port), g, shape)
        g.close()


if __name__ == "__main__":
    sys.exit(main())
