#!/usr/bin/env python3
"""/healthz, /readyz and /metrics of a real daemon: the text format of Prometheus 0.0.4 by its rules, the same figures as /api/stats, and both
health pages in every mode."""
import http.client
import os
import re
import subprocess

from metakit import ask, end, holds as check
from tsdtest import Daemon

SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"\})? (\d+)$')
HEAD = re.compile(r"^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$")


def get(d, path, method="GET"):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request(method, path)
    r = c.getresponse()
    data = r.read().decode()
    c.close()
    return r.status, r.getheader("Content-Type"), data


def parsed(text):
    """{(metric, label, value of the label): value}; checks the rules of the format on the way."""
    samples, types, helps, now = {}, {}, {}, None
    check("the last line ends", text.endswith("\n"))
    for line in text.splitlines():
        if m := HEAD.match(line):
            kind, name, rest = m.groups()
            check("%s of %s once" % (kind, name), name not in (types if kind == "TYPE" else helps))
            (types if kind == "TYPE" else helps)[name] = rest
            check("the type of %s" % name, kind == "HELP" or rest in ("counter", "gauge"), line)
            now = name
            continue
        m = SAMPLE.match(line)
        check("a sample", m, line)
        name, label, value, n = m.groups()
        check("%s stands below its head" % name, name == now and name in types and name in helps, line)
        check("%s ends in _total if it is a counter" % name, name.endswith("_total") == (types[name] == "counter"), types[name])
        check("%s once" % line, (name, label, value) not in samples)
        samples[name, label, value] = int(n)
    return samples


def main():
    with Daemon(workers=2) as d:
        check("healthz", get(d, "/healthz") == (200, "text/plain; charset=UTF-8", "ok\n"), get(d, "/healthz"))
        check("readyz", get(d, "/readyz") == (200, "text/plain; charset=UTF-8", "ready\n"), get(d, "/readyz"))
        check("HEAD", get(d, "/healthz", "HEAD")[::2] == (200, ""))
        for path in ("/healthz", "/readyz", "/metrics"):
            check("%s is read only" % path, get(d, path, "POST")[0] == 405)
        d.talk("put m 1700000000 1 a=b\nput m 1700000001 1 a=b\nput m x 1 a=b\n")
        status, kind, text = get(d, "/metrics")
        check("metrics", (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8"), (status, kind))
        got = parsed(text)
        check("points", got["tsd_datapoints_added_total", "type", "all"] == 2)
        check("refused", got["tsd_rpc_errors_total", "type", "invalid_values"] + got["tsd_rpc_errors_total", "type", "illegal_arguments"] == 1)
        check("gauge", got["tsd_process_resident_bytes", None, None] > 1 << 20)
        wanted = set()
        for s in d.api("/api/stats"):
            tags = {k: v for k, v in s["tags"].items() if k != "host"}
            name = re.sub(r"[^a-zA-Z0-9]", "_", s["metric"])
            k, v = next(iter(tags.items())) if tags else (None, None)
            wanted.add((name, k, v))
        found = {(n[:-6] if n.endswith("_total") else n, k, v) for n, k, v in got}
        check("the same figures as /api/stats", found == wanted, found ^ wanted)
    for keys in ({"mode": "ro"}, {"mode": "wo"}, {"compat": "opentsdb"}):
        with Daemon(workers=1, **keys) as d:
            check("healthz %s" % keys, get(d, "/healthz")[0] == 200)
            check("readyz %s" % keys, get(d, "/readyz")[0] == 200)
            parsed(get(d, "/metrics")[2])
    with Daemon(workers=1, max_series=1) as d:
        for value in "bc":
            ask(d, "POST", "/api/put", {"metric": "health.m", "timestamp": 1500000000, "value": 1, "tags": {"a": value}})
        status, kind, text = get(d, "/readyz")
        check("what keeps no point of known series out is named after ready", status == 200 and text.startswith("ready\npoints of new series are refused: max_series is reached: "), (status, text))
        said = subprocess.run([os.environ["TSD"], "check", "--port", str(d.port)], stdout=subprocess.PIPE, text=True)
        check("tsd check warns of it", (said.returncode, "; points of new series are refused" in said.stdout) == (1, True), said)
    end("health")


main()
