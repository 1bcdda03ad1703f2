#!/usr/bin/env python3
"""mode = ro and wo: what clients may not do is not there, by line and by HTTP; everything else is, and mode = rw has all."""
import sys

from metakit import ask, check, end
from tsdtest import Daemon

T0 = 1500000000
READS = ("/", "/q?start=1h-ago&m=sum:mode.m&ascii", "/api/query?start=%d&m=sum:mode.m" % T0, "/api/query/last?timeseries=mode.m", "/api/suggest?type=metrics",
         "/suggest?type=metrics", "/api/search/lookup?m=mode.m", "/api/export?metric=mode.m", "/api/query/gexp?start=%d&exp=absolute(sum:mode.m)" % T0)
STORES = ("/api/put", "/api/rollup", "/api/histogram", "/api/annotation", "/api/tree", "/api/uid/assign", "/api/uid/uidmeta")
ALWAYS = ("/api/version", "/api/stats", "/api/config", "/api/aggregators", "/version", "/stats", "/logs")


def there(d, method, path):
    return ask(d, method, path, {} if method == "POST" else None)[0] != 404


def said(d, text):
    return d.talk(text + "exit\n", shut=False).decode()


def run(d, mode, compat):
    d.keys.update(mode=mode, compat=compat)
    d.restart()
    name = "%s, compat %s: " % (mode, compat)
    for path in READS:
        check(name + path, there(d, "GET", path), mode != "wo")
    for path in STORES:
        check(name + path, there(d, "POST", path), mode != "ro")
    for path in ALWAYS:
        check(name + path, there(d, "GET", path), True)
    if mode != "rw":
        got = ask(d, "POST", "/api/put", {}) if mode == "ro" else ask(d, "GET", READS[2])
        why = {"ro": "read-only: this daemon stores nothing (mode = ro)", "wo": "write-only: this daemon answers no queries (mode = wo)"}[mode]
        check(name + "the answer says why", got[1]["error"]["message"], "Endpoint not found" if compat == "opentsdb" else why)
    refusal = "unknown command: %s.  Try `help'.\n" if compat == "opentsdb" else "%s: read-only: this daemon takes no points (mode = ro)\n"
    line = "put mode.m %d 2 h=%s\n" % (T0 + 1, mode + compat)
    got = said(d, line + "rollup 10m:sum\n")
    check(name + "put", got == refusal % "put" + refusal % "rollup" if mode == "ro" else got.startswith("rollup: illegal argument: not enough arguments"))
    check(name + "help", "put" in said(d, "help\n").split(), mode != "ro")


def main():
    with Daemon(workers=2, query_allow_delete="true", auto_create_metrics="true", search="true") as d:
        d.send("put mode.m %d 1 h=a\n" % T0)
        d.sync()
        for compat in ("none", "opentsdb"):
            for mode in ("rw", "ro", "wo"):
                run(d, mode, compat)
        d.keys.update(mode="ro", compat="none")
        d.restart()
        path = "/api/query?start=%d&end=%d&m=sum:mode.m{h=a}" % (T0 - 1, T0 + 1)
        status, answer = ask(d, "DELETE", path)
        check("no delete with ro", (status, answer["error"]["message"]), (400, "Deleting is switched off: the daemon is read-only (mode = ro)"))
        rows = d.api("/api/query?start=%d&m=none:mode.m" % T0)
        check("what rw and wo stored is there, what ro was sent is not", sorted(r["tags"]["h"] for r in rows), ["a", "rwnone", "rwopentsdb", "wonone", "woopentsdb"])
    return end("modes")


if __name__ == "__main__":
    sys.exit(main())
