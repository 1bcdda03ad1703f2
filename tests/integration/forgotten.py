#!/usr/bin/env python3
"""Short-lived series of a real daemon: they expire, are forgotten, are in no list any more, and come back as new ones; what people have said
about a series keeps it; a killed daemon mixes nothing up; memory and the catalog's log go down."""
import sys
import time

from metakit import ask, check, end, holds
from tsdtest import Daemon, until

DAY = 86400
NOW = int(time.time())
OLD, NEW = NOW - 30 * DAY, NOW - 3600
PODS = 4000  # short-lived series of one generation


def stats(d):
    return {r["metric"]: float(r["value"]) for r in d.api("/api/stats") if r["metric"].startswith("tsd.storage.")}


def stat(d, name):
    return stats(d)["tsd.storage." + name]


def forget(d):
    """Merge everything; then several looks at all series, so that the memory of those that went in the first is used again, and that of
    their names after them."""
    for _ in range(6):
        before = stat(d, "forget.passes")
        d.flush("compact")
        until("a look for series without points", lambda: stat(d, "forget.passes") > before)
    check("no pass failed", stat(d, "forget.errors"), 0)


def lookup(d, what):
    status, answer = ask(d, "GET", "/api/search/lookup?limit=0&m=" + what)
    return {r["tsuid"]: r["tags"] for r in answer["results"]} if status == 200 else {}


def pods(d, generation):
    """A generation of series whose points are old, in files."""
    d.send("".join("put pod.cpu %d %d pod=p%d.%d host=h%d\n" % (OLD + i % 60, i, generation, i, i % 7) for i in range(PODS)))
    d.send("".join("put pod.cpu %d %d pod=stays host=h%d\n" % (NEW + i, i, i) for i in range(7)))
    d.sync()
    d.flush("files")


def expire(d, how):
    """Retention begins, and what is old goes, files too."""
    how()
    d.keys["retention_days"] = 10
    d.start()
    forget(d)


def living(d):
    """Points and totals of what is not old."""
    rows = d.api("/api/query?start=%d&end=%d&m=none:pod.cpu" % (OLD - DAY, NOW))
    sums = d.api("/api/query?start=%d&end=%d&m=sum:0all-count:pod.cpu" % (OLD - DAY, NOW))
    total = d.query("2000/01/01", "now", "sum", "pod.cpu", "--by", "pod")[1]
    return (
        sorted((r["tags"]["pod"], len(r["dps"])) for r in rows),
        sum(v for r in sums for v in r["dps"].values()),
        [(r[0], float(r[-1])) for r in total],
    )


def generation(d, n, how):
    """One generation lives and is forgotten; how: how the daemon ends in between."""
    d.keys["retention_days"] = 0
    if d.proc:
        d.stop()
    d.start()
    pods(d, n)
    series = stat(d, "catalog.series")
    check("all series are there", series >= PODS + 7)
    full = stats(d)
    some = lookup(d, "pod.cpu{pod=p%d.5}" % n)
    check("lookup knows a pod", len(some), 1)
    expire(d, how)
    check("points and totals are those of the living", living(d), ([("stays", 1)] * 7, 7, [("stays", 21.0)]))
    check("lookup does not know a pod", lookup(d, "pod.cpu{pod=p%d.5}" % n), {})
    check("nor does a search for all", {t["pod"] for t in lookup(d, "pod.cpu").values()} - {"stays", "p1.1", "p1.2"}, set())
    return full, next(iter(some))


def said(d):
    """A note and metadata of two of the first generation's series."""
    d.keys["retention_days"] = 0
    d.start()
    pods(d, 1)
    for pod, path, body in (
        ("p1.1", "/api/annotation", {"startTime": OLD, "description": "it broke"}),
        ("p1.2", "/api/uid/tsmeta", {"displayName": "second"}),
    ):
        body["tsuid"] = next(iter(lookup(d, "pod.cpu{pod=%s}" % pod)))
        check("said about " + pod, ask(d, "POST", path, body)[0], 200)
    return [next(iter(lookup(d, "pod.cpu{pod=%s}" % pod))) for pod in ("p1.1", "p1.2")]


def still_said(d, noted, described):
    check("who has a note stays", list(lookup(d, "pod.cpu{pod=p1.1}")), [noted])
    check("its note", ask(d, "GET", "/api/annotation?tsuid=%s&start_time=%d" % (noted, OLD))[1].get("description"), "it broke")
    check("who has metadata stays", list(lookup(d, "pod.cpu{pod=p1.2}")), [described])
    check("its metadata", ask(d, "GET", "/api/uid/tsmeta?tsuid=" + described)[1].get("displayName"), "second")


def come_back(d, n, tsuid):
    """A point of a forgotten series: a series that has this point and no other."""
    d.send("put pod.cpu %d 77 pod=p%d.5 host=h5\n" % (NEW, n))
    d.sync()
    found = lookup(d, "pod.cpu{pod=p%d.5}" % n)
    check("it is there again", len(found), 1)
    rows = d.api("/api/query?start=%d&end=%d&m=none:pod.cpu{pod=p%d.5}" % (OLD - DAY, NOW, n))
    check("with its new point alone", [r["dps"] for r in rows], [{str(NEW): 77}])
    holds("its TSUID is as long as before", len(next(iter(found))) == len(tsuid), found)


def deleted(d, n):
    """A generation in a daemon that goes on: put, deleted, merged away, forgotten."""
    d.send("".join("put pod.cpu %d %d pod=q%d.%d host=h%d\n" % (NEW + i % 60, i, n, i, i % 7) for i in range(PODS)))
    d.sync()
    d.flush("files")
    full = stats(d)
    path = "/api/delete?start=%d&end=%d&m=sum:pod.cpu%%7Bpod=wildcard(q%d.*)%%7D" % (OLD - DAY, NOW, n)
    check("deleted", ask(d, "DELETE", path)[0], 200)
    forget(d)
    check("and forgotten", lookup(d, "pod.cpu{pod=q%d.5}" % n), {})
    check("so are its names", d.api("/api/suggest?type=tagv&q=q%d." % n), [])
    return full


def assigned(d):
    """Names that somebody has assigned ahead, or has said something about, stay; others do not."""
    check("assigned ahead", ask(d, "POST", "/api/uid/assign", {"metric": ["pod.ahead"], "tagv": ["ahead"]})[0], 200)
    d.send("put pod.brief %d 1 pod=described\nput pod.brief %d 1 pod=brief\n" % (NEW, NEW))
    d.sync()
    uid = next(iter(lookup(d, "pod.brief{pod=described}")))[-6:]
    check("described", ask(d, "POST", "/api/uid/uidmeta", {"uid": uid, "type": "tagv", "description": "of note"})[0], 200)
    check("deleted", ask(d, "DELETE", "/api/delete?start=%d&end=%d&m=sum:pod.brief" % (OLD - DAY, NOW))[0], 200)
    forget(d)
    for kind, name, there in (("metrics", "pod.ahead", True), ("tagv", "ahead", True), ("tagv", "described", True), ("metrics", "pod.brief", False), ("tagv", "brief", False)):
        check("%s %s" % (kind, name), d.api("/api/suggest?type=%s&q=%s" % (kind, name)), [name] if there else [])


def level_off(d):
    """Generations follow each other: what one has left behind serves the next."""
    first, _, third = deleted(d, 2), deleted(d, 3), deleted(d, 4)
    for name in ("catalog.series", "catalog.series_bytes", "catalog.index_bytes", "catalog.names_bytes", "catalog.tag_values"):
        name = "tsd.storage." + name
        holds("%s levels off" % name, third[name] <= first[name] * 1.25, (first[name], third[name]))


def main():
    with Daemon(workers=2, forget_series_h=1, meta_series="true", query_allow_delete="true") as d:
        d.stop()
        noted, described = said(d)
        full, tsuid = generation(d, 1, d.stop)
        still_said(d, noted, described)
        empty = stats(d)
        for name in ("catalog.series", "catalog.series_bytes"):
            name = "tsd.storage." + name
            holds("%s goes down" % name, empty[name] < full[name] / 2, (full[name], empty[name]))
        check("forgotten", empty["tsd.storage.catalog.series_forgotten"], PODS - 2)
        come_back(d, 1, tsuid)
        # Killed after it forgot, with what came since in the log alone.
        d.kill()
        d.start()
        check("a kill brings nothing back", {t["pod"] for t in lookup(d, "pod.cpu").values()}, {"stays", "p1.1", "p1.2", "p1.5"})
        rows = d.api("/api/query?start=%d&end=%d&m=none:pod.cpu{pod=p1.5}" % (OLD - DAY, NOW))
        check("nor loses what came", [r["dps"] for r in rows], [{str(NEW): 77}])
        still_said(d, noted, described)
        level_off(d)
        still_said(d, noted, described)
        assigned(d)
        found = d.run("uid", "fsck", "--port", str(d.port), check=False)
        holds("tsd uid fsck finds nothing", found.returncode == 0, found.stdout + found.stderr)
        d.stop()
        check("fsck finds nothing", d.run("fsck", "--data", d.data, check=False).returncode, 0)
    return end("forgotten")


if __name__ == "__main__":
    sys.exit(main())
