#!/usr/bin/env python3
"""What a real daemon stores about itself: exactly the metrics of docs/METRICS.md, with their kinds and meanings as /metrics has them; at whole intervals, durable,
apart from what clients send; not with mode = ro; with a full disk it is silent. With TSD_HBASE_GATEWAY=HOST:PORT (a Thrift2 gateway, of a real HBase or the
fake one) also with HBase behind it."""
import os
import re
import subprocess
import time

from metakit import end, holds as check
from tsdtest import ROOT, Daemon, binary, until

ROW = re.compile(r"^\| `tsd\.([^`]+)`(?:, `([^`]+)`)? \| (gauge|counter) \| (\S+) \| (.+) \|$")
ON = {"self_metrics": "true", "self_metrics_interval_s": 1}


def documented():
    """{(name, tag or None): (kind, meaning)} of docs/METRICS.md."""
    with open(ROOT + "/docs/METRICS.md", encoding="utf-8") as f:
        found = {(m[1], m[2]): (m[3], m[5].replace("\\|", "|")) for m in map(ROW.match, f) if m}
    check("rows of docs/METRICS.md are found", len(found) > 100, len(found))
    return found


def names(d, prefix="tsd."):
    return [n[4:] for n in d.api("/api/suggest?type=metrics&max=100000&q=" + prefix)]


def stats(d):
    """{(name, tag or None): value} of /api/stats."""
    found = {}
    for s in d.api("/api/stats"):
        tag = ["%s=%s" % kv for kv in s["tags"].items() if kv[0] != "host"]
        found[s["metric"][4:], tag[0] if tag else None] = int(s["value"])
    return found


def stat(d, name):
    return sum(v for (n, _), v in stats(d).items() if n == name)


def series(d, metric):
    """{tags as sorted pairs: {ms: value}}."""
    rows = d.api("/api/query?start=1h-ago&ms=true&m=none:tsd." + metric)
    return {tuple(sorted(r["tags"].items())): {int(t): v for t, v in r["dps"].items()} for r in rows}


def row_of(table, name, tag):
    return table.get((name, tag)) or table.get((name, None))


def compare(d, table, left_out):
    """Every stored metric and every figure has a row, and every row but those left out was stored."""
    stored, figures = set(names(d)), stats(d)
    check("stored are the figures of /api/stats", stored == {n for n, _ in figures}, stored ^ {n for n, _ in figures})
    for name, tag in figures:
        check("%s %s is documented" % (name, tag), row_of(table, name, tag))
    want = {n for n, _ in table if not left_out(n)}
    check("what is documented is stored", stored == want, stored ^ want)
    text = d.http("/metrics").decode()
    for (name, tag), (kind, meaning) in table.items():
        full = "tsd_" + re.sub("[^a-zA-Z0-9]", "_", name) + ("_total" if kind == "counter" else "")
        if not left_out(name):
            check("type of %s" % full, "# TYPE %s %s\n" % (full, kind) in text)
            check("help of %s" % full, "# HELP %s %s\n" % (full, meaning.replace("\\", "\\\\")) in text, meaning)


def without_hbase(table):
    with Daemon(**ON) as d:
        until("two rounds", lambda: stat(d, "self.points") > 300)
        compare(d, table, lambda n: n.startswith(("hbase.", "storage.ship.")))
        up = series(d, "process.uptime_s")
        check("one series, tag host", len(up) == 1 and [k for k, _ in next(iter(up))] == ["host"], up)
        check("at whole seconds", all(t % 1000 == 0 for dps in up.values() for t in dps), up)
        jobs = series(d, "jobs.running")
        check("one more tag", sorted(dict(t)["class"] for t in jobs) == ["picture", "query", "small"] and all("host" in dict(t) for t in jobs), jobs)
        now = stats(d)
        check("clients have sent nothing", now["datapoints.added", "type=all"] == 0 and now["ingest.series", "by=catalog"] == 0, now)
        check("nothing was left out", now["self.skipped", None] == 0)
        d.talk("put m 1700000000 1 a=b\n")
        until("a point of a client", lambda: stats(d)["datapoints.added", "type=all"] == 1)
        before = {t for dps in series(d, "self.points").values() for t in dps}
        time.sleep(1.2)  # a second of the log's syncs
        d.kill()
        d.start()
        after = {t for dps in series(d, "self.points").values() for t in dps}
        check("points outlive a kill", before and before <= after, before - after)


def interval():
    with Daemon(self_metrics="true", self_metrics_interval_s=2) as d:
        until("three rounds", lambda: stat(d, "self.points") and len(list(series(d, "process.uptime_s").values() or [{}])[0]) >= 3)
        times = sorted(next(iter(series(d, "process.uptime_s").values())))
        check("every two seconds", all(t % 2000 == 0 for t in times), times)


def switched_off(keys, on):
    with Daemon(**{"self_metrics_interval_s": 1, "self_metrics": "auto", **keys}) as d:
        if on:
            until("points with %r" % keys, lambda: stat(d, "self.points"))
            check("series with %r" % keys, stat(d, "storage.catalog.series") > 100)
        else:
            until("three seconds", lambda: stat(d, "process.uptime_s") >= 3)
            check("no points with %r" % keys, stat(d, "self.points") + stat(d, "self.skipped") + stat(d, "storage.catalog.series") == 0)


def few_series():
    """max_series is for clients alone: a small one leaves room for exactly as many of their series beside those of the daemon, also after a restart."""
    lines = "".join("put few %d 1 host=h%d\n" % (time.time(), i) for i in range(12))
    with Daemon(max_series=10, **ON) as d:
        until("a round", lambda: stat(d, "self.points") > 100)
        check("ten are left", stat(d, "storage.catalog.series_left") == 10)
        for start in "first", "second":
            answer = d.talk(lines)
            check("two of twelve are refused, %s start" % start, answer.count(b"max_series") == 2, answer)
            until("another round", lambda: stat(d, "self.points") > 100)
            check("nothing is left out", stat(d, "self.skipped") == 0)
            check("no clients' series are left", stat(d, "storage.catalog.series_left") == 0)
            d.stop()
            d.start()


def no_memory():
    """Names that fill what memory_limit leaves them: the daemon's own figures are left out, without a word in the log."""
    with Daemon(memory_limit="64M", new_series_per_min=0, new_series_per_min_total=0) as d:
        answer = d.talk("".join("put full %d 1 host=h%d%s\n" % (time.time(), i, "x" * 1000) for i in range(20000)))
        check("points of clients are refused", b"memory_limit" in answer, answer[:200])
        d.stop()
        d.keys.update(ON)
        d.start()
        until("points that are left out", lambda: stat(d, "self.skipped") > 100)
        problems = [p["what"] for p in d.api("/api/tsd/status")["health"]["problems"]]
        check("health says so", any(re.fullmatch(r"\d{3} of the daemon's own figures were not stored in the last round: they have no series, and no new ones are taken", p)
                                    for p in problems), problems)
    with open(d.log.name, encoding="utf-8") as f:
        check("the log is silent", "too many series" not in f.read())


def flood():
    """Series of clients that use up max_series before the first round: those of the daemon are there already, and all its points are stored."""
    with Daemon(max_series=1000, self_metrics="true", self_metrics_interval_s=3600) as d:
        hour = time.time() // 3600
        answer = d.talk("".join("put flood %d 1 host=h%d\n" % (time.time(), i) for i in range(2000)))
        check("points of clients are refused", answer.count(b"max_series") == 1000, answer[:200])
        check("no round before that", stat(d, "self.points") == 0 or time.time() // 3600 != hour)
        d.stop()
        d.keys.update(ON)
        d.start()
        until("three rounds", lambda: len(list(series(d, "process.uptime_s").values() or [{}])[0]) >= 3)
        check("nothing was left out", stat(d, "self.skipped") == 0)
        problems = [p["what"] for p in d.api("/api/tsd/status")["health"]["problems"]]
        check("health names only the limit", problems == ["points of new series are refused: max_series is reached"], problems)


def with_hbase(table, gateway):
    prefix = "tsd_self_%d_" % os.getpid()
    tables = {"hbase_data_table": prefix + "tsdb", "hbase_uid_table": prefix + "uid", "hbase_tree_table": prefix + "tree", "hbase_meta_table": prefix + "meta"}
    options = [word for k, v in tables.items() for word in ("--" + k.replace("_", "-"), v)]
    subprocess.run([binary(), "hbase", "create-tables", "--gateways", gateway, *options], check=True, stdout=subprocess.DEVNULL)
    with Daemon(remote="hbase", hbase_gateways=gateway, hbase_ship="at_once", **tables, **ON) as d:
        until("points about the daemon in HBase", lambda: stat(d, "hbase.shipped_points") > 200)
        until("all metrics", lambda: "hbase.backlog_s" in names(d))
        compare(d, table, lambda n: False)


def main():
    table = documented()
    gateway = os.environ.pop("TSD_HBASE_GATEWAY", None)
    if gateway:
        with_hbase(table, gateway)
    else:
        without_hbase(table)
        interval()
        few_series()
        no_memory()
        flood()
        switched_off({"mode": "ro"}, False)
        switched_off({"self_metrics": "false"}, False)
        switched_off({"compat": "opentsdb"}, False)
        switched_off({"compat": "opentsdb", "self_metrics": "true"}, True)
        switched_off({"auto_create_metrics": "false"}, True)
        switched_off({"mode": "wo"}, True)
    end("self_metrics")


main()
