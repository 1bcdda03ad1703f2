#!/usr/bin/env python3
"""Clients of OpenTSDB from the registries, run for real against a tsd of their own: each writes, what it wrote is read back and compared.

    tests/clients/run.py [NAME...]        all, or those whose name contains one of these words

Needs the network (pip, npm, apt-get download); everything is installed below a temporary folder, $CLIENTS_CACHE keeps it for the next run.
A client that can't be installed is skipped and listed; one that misbehaves makes the run fail. Ends with 0, 1, or 77 if fewer than eight ran.

A script in uses/ gets the daemon's host and port, lets its client write, checks what the client itself reads, and prints what must be there
as JSON: [metric, {tag: value}, seconds or null for "now", value].
"""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
from tsdtest import Daemon, free_port  # noqa: E402

WAIT_S = 120  # for a client's points, and for a client


class Missing(Exception):
    """A client can't be installed here."""


class Wrong(Exception):
    """A client, or what it left, is not as it should be."""


def install(argv, cwd):
    try:
        p = subprocess.run(argv, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Missing(str(e)) from e
    if p.returncode:
        raise Missing("%s: %s" % (argv[0], (p.stdout.strip().splitlines() or ["?"])[-1]))


def folder(root, name):
    """Folder of a package, and whether it is installed there already."""
    path = os.path.join(root, name)
    os.makedirs(path, exist_ok=True)
    return path, os.path.exists(path + "/installed")


def done(path):
    with open(path + "/installed", "w", encoding="ascii"):
        pass


def pip(root, name):
    """(folder, version) of a package from PyPI, installed with what it needs."""
    path, there = folder(root, "pip-" + name)
    if not there:
        install([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", path, name], path)
        done(path)
    info = glob.glob("%s/%s-*.dist-info" % (path, name.replace("-", "_")))
    return path, os.path.basename(info[0])[:-len(".dist-info")].split("-")[1] if info else "?"


def npm(root, names):
    """(folder, version of the first) of packages from npm."""
    path, there = folder(root, "npm-" + names[0])
    if not there:
        install(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", path] + names, path)
        done(path)
    with open("%s/node_modules/%s/package.json" % (path, names[0]), encoding="utf-8") as f:
        return path, json.load(f)["version"]


def deb(root, names):
    """(folder, version of the first) of Debian packages, unpacked there and not installed."""
    path, there = folder(root, "deb-" + names[0])
    if not there:
        install(["apt-get", "download"] + names, path)
        for f in glob.glob(path + "/*.deb"):
            install(["dpkg-deb", "-x", f, path + "/root"], path)
        done(path)
    return path, os.path.basename(glob.glob("%s/%s_*.deb" % (path, names[0]))[0]).split("_")[1]


def use(argv, env):
    """What a script of uses/ says it wrote."""
    try:
        p = subprocess.run(argv, env=dict(os.environ, **env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=WAIT_S, check=False)
    except subprocess.TimeoutExpired as e:
        raise Wrong("it did not end within %d s" % WAIT_S) from e
    if p.returncode:
        raise Wrong((p.stderr.strip().splitlines() or ["status %d" % p.returncode])[-1][:500])
    return json.loads(p.stdout)


def python(script, package, *more):
    def run(root, d):
        path, version = pip(root, package)
        return version, use([sys.executable, "%s/uses/%s" % (HERE, script), "127.0.0.1", str(d.port), *more], {"PYTHONPATH": path})
    return run


def node(script, *packages):
    def run(root, d):
        path, version = npm(root, list(packages))
        return version, use(["node", "%s/uses/%s" % (HERE, script), "127.0.0.1", str(d.port)], {"NODE_PATH": path + "/node_modules"})
    return run


def stop(p):
    p.send_signal(signal.SIGTERM)
    try:
        p.wait(60)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()


def statsd(root, d):
    """A whole statsd with the backend: one gauge and a counter over UDP, flushed to us."""
    import socket
    path, version = npm(root, ["statsd-opentsdb-backend", "statsd"])
    port = free_port()
    config = path + "/config.js"
    with open(config, "w", encoding="ascii") as f:
        f.write("{port: %d, mgmt_port: %d, address: '127.0.0.1', flushInterval: 500, backends: ['statsd-opentsdb-backend/statsd-opentsdb-backend'],"
                " opentsdbHost: '127.0.0.1', opentsdbPort: %d}\n" % (port, free_port(), d.port))
    with open(path + "/log", "wb") as log:
        p = subprocess.Popen(["node", path + "/node_modules/statsd/stats.js", config], stdout=log, stderr=log,
                             env=dict(os.environ, NODE_PATH=path + "/node_modules"))
        try:
            until = time.monotonic() + WAIT_S
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                while time.monotonic() < until and p.poll() is None:
                    s.sendto(b"beep:42.5|g", ("127.0.0.1", port))
                    if found(d, "stats.gauges.beep", {"source": "statsd"}, None) == 42.5:
                        break
                    time.sleep(0.3)
        finally:
            stop(p)
    return version, [["stats.gauges.beep", {"source": "statsd"}, None, 42.5]]


def collectd(root, d):
    """collectd writes what it measures to us and, by its csv plugin, to files: both must say the same."""
    path, version = deb(root, ["collectd-core", "libltdl7"])
    run = tempfile.mkdtemp(prefix="run.", dir=path)
    with open(run + "/collectd.conf", "w", encoding="ascii") as f:
        f.write('Hostname "lab"\nFQDNLookup false\nBaseDir "%s"\nPIDFile "%s/pid"\nPluginDir "%s/root/usr/lib/collectd"\n'
                'TypesDB "%s/root/usr/share/collectd/types.db"\nInterval 1\nLoadPlugin load\nLoadPlugin memory\nLoadPlugin csv\nLoadPlugin write_tsdb\n'
                '<Plugin csv>\nDataDir "%s/csv"\n</Plugin>\n'
                '<Plugin write_tsdb>\n<Node>\nHost "127.0.0.1"\nPort "%d"\nHostTags "run=x lab=yes"\n</Node>\n</Plugin>\n'
                % (run, run, path, path, run, d.port))
    with open(run + "/log", "wb") as log:
        p = subprocess.Popen([path + "/root/usr/sbin/collectd", "-f", "-C", run + "/collectd.conf"], stdout=log, stderr=log,
                             env=dict(os.environ, LD_LIBRARY_PATH=":".join(glob.glob(path + "/root/usr/lib/*-linux-gnu"))))
        try:
            time.sleep(15)
        finally:
            stop(p)
    points = []
    for name in glob.glob(run + "/csv/lab/load/load-*") + glob.glob(run + "/csv/lab/memory/memory-used-*"):
        with open(name, encoding="ascii") as f:
            head, *rows = [line.strip().split(",") for line in f]
        for row in rows:
            for what, value in zip(head[1:], row[1:]):
                metric = "load.load." + what if "/load/" in name else "memory.used.memory"
                points.append([metric, {"fqdn": "lab", "run": "x", "lab": "yes"}, int(float(row[0]) + 0.5), float(value)])
    if len(points) < 8:
        raise Wrong("it measured %d values only" % len(points))
    return version, points


CLIENTS = [  # name, where from, what runs it
    ("opentsdb-py (HTTP)", "PyPI", python("opentsdb_py.py", "opentsdb-py", "HTTP", "py.http")),
    ("opentsdb-py (lines)", "PyPI", python("opentsdb_py.py", "opentsdb-py", "TELNET", "py.lines")),
    ("opentsdb-client (Python)", "PyPI", python("opentsdb_py.py", "opentsdb-client", "HTTP", "py.client")),
    ("potsdb", "PyPI", python("potsdb.py", "potsdb")),
    ("pyopentsdb", "PyPI", python("pyopentsdb.py", "pyopentsdb")),
    ("opentsdb-http-client", "PyPI", python("opentsdb_http_client.py", "opentsdb-http-client")),
    ("opentsdb-python-metrics", "PyPI", python("opentsdb_python_metrics.py", "opentsdb-python-metrics")),
    ("opentsdb-socket", "npm", node("opentsdb_socket.js", "opentsdb-socket")),
    ("opentsdb-client (node)", "npm", node("opentsdb_client.js", "opentsdb-client", "opentsdb-mquery")),
    ("statsd-opentsdb-backend", "npm", statsd),
    ("collectd write_tsdb", "Debian", collectd),
]


def found(d, metric, tags, at):
    """The value of a series at a time, None if there is none; at None: its last value."""
    braces = "{%s}" % ",".join("%s=%s" % kv for kv in tags.items()) if tags else ""
    span = "start=%d&end=%d" % (at, at + 1) if at else "start=1h-ago"
    try:
        rows = d.api("/api/query?%s&m=%s" % (span, urllib.parse.quote("none:" + metric + braces)))
    except urllib.error.HTTPError as e:
        if e.code == 400:
            return None  # a name nobody has written yet
        raise
    dps = {int(t): v for row in rows for t, v in row["dps"].items()}
    return dps.get(at) if at else dps[max(dps)] if dps else None


def same(a, b):
    return a is not None and abs(a - b) <= 1e-6 * max(1e-9, abs(b)) if isinstance(b, float) else a == b


def compare(d, points):
    """All points are there, at the latest after a while: clients that close their connection wait for nothing."""
    until = time.monotonic() + WAIT_S
    for metric, tags, at, value in points:
        seen = found(d, metric, tags, at)
        while not same(seen, value) and time.monotonic() < until:
            time.sleep(0.2)
            seen = found(d, metric, tags, at)
        if not same(seen, value):
            raise Wrong("%s %s at %s is %r, not %r" % (metric, tags, at, seen, value))


def main():
    words, ran, failed = sys.argv[1:], 0, 0
    with tempfile.TemporaryDirectory(prefix="tsd-clients.") as tmp:
        root = os.path.abspath(os.environ.get("CLIENTS_CACHE", tmp))
        print("%-26s %-7s %-12s %s" % ("client", "from", "version", "result"))
        for name, origin, run in CLIENTS:
            if words and not any(w in name for w in words):
                continue
            version = "-"
            try:
                with Daemon(workers=2) as d:
                    version, points = run(root, d)
                    compare(d, points)
                    d.restart()
                    compare(d, points)
                result = "ok, %d points" % len(points)
                ran += 1
            except Missing as e:
                result = "skipped: %s" % e
            except Wrong as e:
                result, failed = "WRONG: %s" % e, failed + 1
            print("%-26s %-7s %-12s %s" % (name, origin, version, result), flush=True)
    return 1 if failed else 77 if not words and ran < 8 else 0


sys.exit(main())
