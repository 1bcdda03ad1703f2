#!/usr/bin/env python3
"""Totals over a year of 10,000 domains (87.6 million rows of an hour) and days of 1,000 series, beside DuckDB and VictoriaMetrics, in one run; answers are compared.

usage: days_rate.py [--dir DIR] [--domains N] [--port PORT] [--only tsd]

Builds on bench_days (build/dev or build/release, or $BENCH_DAYS), `pip install duckdb`, `apt install victoria-metrics` ($VM_BIN); what is missing is left out. DIR keeps
the store, so that a second run need not make it."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT + "/tests/integration")
T0, HOURS, REPEATS = 1735689600, 8760, 11
FEW, LONG_S = 3, 10  # repeats of what takes long
FORMULA = "1 + (d * 31 + h * 17 + h * h %% 1009 * (d %% 7)) %% (20000 // (d + 1) + 10)".replace("%%", "%")


def program(name, variable):
    found = [os.environ.get(variable), *["%s/build/%s/%s" % (ROOT, b, p) for b in ("release", "dev") for p in (name, "tests/" + name)], shutil.which(name)]
    return next((p for p in found if p and os.path.exists(p)), None)


def timed(ask):
    """The first answer, and the median of the times in ms."""
    took, answer = [], None
    for i in range(REPEATS):
        if i >= FEW and sum(took) > LONG_S * 1e3:
            break
        t = time.monotonic()
        got = ask()
        took.append((time.monotonic() - t) * 1e3)
        answer = got if i == 0 else answer
    return answer, statistics.median(took)


def say(who, what, ms, more=""):
    print("%-18s %-28s %10.2f ms %s" % (who, what, ms, more), flush=True)


def load():
    with open("/proc/loadavg") as f:
        return f.read().split()[0]


# --- tsd ---
def answers_of(path):
    out = {}
    with open(path) as f:
        for line in f:
            name, ts, tag, value = line.rstrip("\n").split("\t")
            out.setdefault(name, []).append((int(ts), tag, float(value)))
    return out


def run_tsd(args, bench):
    store = args.dir + "/store"
    if not os.path.exists(store + "/made"):
        shutil.rmtree(store, ignore_errors=True)
        t = time.monotonic()
        subprocess.run([bench, "make", store, str(args.domains)], check=True)
        open(store + "/made", "w").close()
        print("made the store in %.0f s" % (time.monotonic() - t))
    answers = {}
    for zone, kept in (("UTC", 0), ("Europe/Berlin", 0), ("Europe/Berlin", 1), ("UTC", 1)):
        path = "%s/answers.%d" % (args.dir, len(answers))
        print("--- tsd, zone of the store %s, kept total %s, load %s" % (zone, "yes" if kept else "no", load()))
        subprocess.run([bench, "run", store, zone, str(kept), path], check=True)
        answers[zone, kept] = answers_of(path)
    for zone in ("UTC", "Europe/Berlin"):
        if answers[zone, 0] != answers[zone, 1]:
            sys.exit("answers differ with a kept total in %s" % zone)
    return answers


def run_daemon(args):
    """The same through a daemon, whose replies are JSON."""
    from tsdtest import Daemon
    d = Daemon(workers=2, data=args.dir + "/store")
    if args.port:
        d.port = args.port
    with d:
        for what, path in (("day totals", "m=sum:web.hits&by=day"), ("top 10 domains", "m=sum:web.hits&by=domain&top=10"),
                           ("one domain by day", "m=sum:web.hits%7Bdomain=d77%7D&by=day")):
            _, ms = timed(lambda: d.http("/api/query?start=%d&end=%d&%s" % (T0, T0 + HOURS * 3600 - 1, path)))
            say("daemon", what, ms)


# --- DuckDB ---
def run_duckdb(args):
    try:
        import duckdb
    except ImportError:
        print("DuckDB is not installed")
        return None
    db = duckdb.connect(args.dir + "/duck.db")
    db.execute("SET TimeZone = 'UTC'")
    if not db.execute("SELECT count(*) FROM information_schema.tables WHERE table_name = 'hits'").fetchone()[0]:
        db.execute("CREATE TABLE hits AS SELECT to_timestamp(%d + h * 3600) AS t, d::USMALLINT AS d, (%s)::INTEGER AS n "
                   "FROM range(%d) a(d), range(%d) b(h) ORDER BY d, h" % (T0, FORMULA, args.domains, HOURS))
        db.execute("CREATE TABLE load AS SELECT to_timestamp(%d + 30 * 86400 + m * 60) AS t, h::USMALLINT AS h, "
                   "((h * 37 + m * 13 + m * m %% 911) %% 10000) / 100.0 AS n FROM range(1000) a(h), range(7 * 1440) b(m) ORDER BY h, m" % T0)
        db.execute("CHECKPOINT")
    day = "SELECT epoch(date_trunc('day', timezone('%s', t)) AT TIME ZONE '%s')::BIGINT, sum(n)::DOUBLE FROM hits GROUP BY 1 ORDER BY 1"
    # of Berlin's year, in which the last hour of the data is not
    berlin = (day % ("Europe/Berlin", "Europe/Berlin")).replace("GROUP", "WHERE t < to_timestamp(%d) GROUP" % (T0 + (HOURS - 1) * 3600))
    queries = {"day totals UTC": day % ("UTC", "UTC"), "day totals Europe/Berlin": berlin,
               "day totals America/New_York": day % ("America/New_York", "America/New_York"),
               "one domain by day": (day % ("UTC", "UTC")).replace("GROUP", "WHERE d = 77 GROUP"),
               "top 10 domains": "SELECT 'd' || d, sum(n)::DOUBLE FROM hits GROUP BY d ORDER BY 2 DESC, 1 LIMIT 10",
               "1000 series by day": "SELECT epoch(x)::BIGINT, sum(a) FROM (SELECT date_trunc('day', t) x, h, avg(n) a FROM load GROUP BY 1, 2) GROUP BY 1 ORDER BY 1"}
    print("--- DuckDB %s, load %s" % (duckdb.__version__, load()))
    out = {}
    for name, q in queries.items():
        out[name], ms = timed(lambda: db.execute(q).fetchall())
        say("DuckDB", name, ms)
    return out


# --- VictoriaMetrics ---
def run_vm(args, bench):
    vm = program("victoria-metrics", "VM_BIN")
    if not vm:
        print("VictoriaMetrics is not installed")
        return None
    data, url = args.dir + "/vm", "http://127.0.0.1:%d" % (args.port + 1 if args.port else 18428)
    fresh = not os.path.exists(data)
    proc = subprocess.Popen([vm, "-storageDataPath=" + data, "-httpListenAddr=" + url[7:], "-retentionPeriod=100y", "-search.maxUniqueTimeseries=1000000",
                             "-search.disableCache", "-search.maxQueryDuration=300s", "-search.maxSamplesPerQuery=1000000000"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def get(path, **params):
        return urllib.request.urlopen(url + path + "?" + urllib.parse.urlencode(params), timeout=600).read()

    try:
        while True:
            try:
                get("/health")
                break
            except OSError:
                time.sleep(0.1)
        if fresh:
            source = subprocess.Popen([bench, "json", str(args.domains)], stdout=subprocess.PIPE)
            while lines := source.stdout.readlines(16 << 20):
                urllib.request.urlopen(urllib.request.Request(url + "/api/v1/import", data=b"".join(lines)), timeout=600).read()
            get("/internal/force_flush")
            get("/internal/force_merge")
            time.sleep(10)
        print("--- VictoriaMetrics, load %s" % load())
        out, end = {}, T0 + HOURS * 3600
        for name, q in (("day totals UTC", "sum(sum_over_time(web_hits[1d]))"), ("one domain by day", "sum(sum_over_time(web_hits{domain=\"d77\"}[1d]))")):
            # a window ends at its step and contains that time: one ms earlier, and it has the hours of a day
            body, ms = timed(lambda: get("/api/v1/query_range", query=q, start=T0 + 86400 - 0.001, end=end - 0.001, step="1d", nocache=1))
            out[name] = [(round(float(t) + 0.001) - 86400, float(v)) for t, v in json.loads(body)["data"]["result"][0]["values"]]
            say("VictoriaMetrics", name, ms)
        body, ms = timed(lambda: get("/api/v1/query", query="topk(10, sum_over_time(web_hits[365d]))", time=end - 0.001, nocache=1))
        out["top 10 domains"] = sorted((r["metric"]["domain"], float(r["value"][1])) for r in json.loads(body)["data"]["result"])
        say("VictoriaMetrics", "top 10 domains", ms)
        return out
    finally:
        proc.terminate()
        proc.wait()


def compare(who, name, theirs, ours):
    """Rows of (time or tag, value)."""
    ours, theirs = sorted(ours), sorted(tuple(r) for r in theirs)
    same = len(ours) == len(theirs) and all(a[0] == b[0] and abs(a[1] - b[1]) <= 1e-9 * abs(a[1]) for a, b in zip(ours, theirs))
    if not same:
        sys.exit("%s and tsd differ in %s: %r %r" % (who, name, theirs[:3], ours[:3]))
    print("%s and tsd agree in %s (%d rows)" % (who, name, len(ours)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir")
    parser.add_argument("--domains", type=int, default=10000)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--only")
    args = parser.parse_args()
    bench = program("bench_days", "BENCH_DAYS")
    if not bench:
        sys.exit("bench_days is not built")
    own = not args.dir
    args.dir = args.dir or tempfile.mkdtemp(prefix="days_rate.")
    os.makedirs(args.dir, exist_ok=True)
    answers = run_tsd(args, bench)
    run_daemon(args)
    ours = {"day totals UTC": answers["UTC", 0]["day totals"], "day totals Europe/Berlin": answers["Europe/Berlin", 0]["day totals"],
            "day totals America/New_York": answers["UTC", 0]["day totals, other zone"], "one domain by day": answers["UTC", 0]["one domain by day"],
            "top 10 domains": answers["UTC", 0]["top 10 domains"], "1000 series by day": answers["UTC", 0]["1000 series by day"]}
    others = [] if args.only == "tsd" else [("DuckDB", run_duckdb(args)), ("VictoriaMetrics", run_vm(args, bench))]
    for who, theirs in others:
        for name, rows in (theirs or {}).items():
            compare(who, name, rows, [(tag or ts // 1000, value) for ts, tag, value in ours[name]])
    if own:
        shutil.rmtree(args.dir)


main()
