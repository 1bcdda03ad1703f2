#!/usr/bin/env python3
"""Lengths of names at their limits, on every way in: lines, JSON, histograms, rollups, assign, rename, import into a daemon and into a folder."""
import json
import sys

from metakit import ask, check, end, holds
from tsdtest import Daemon

T0 = 1500000000
LIMITS = (("metric", 256, "max_metric_bytes"), ("tagk", 256, "max_tagk_bytes"), ("tagv", 1024, "max_tagv_bytes"))


def long(n):
    """A name of n bytes in characters of two bytes, so that bytes are counted and not characters."""
    return "x" * (n % 2) + "\u00e4" * (n // 2)


def parts(kind, n, word):
    """metric, key, value of a point; the one of kind has n bytes."""
    name = word + long(n - len(word))
    return (name if kind == "metric" else "len." + word, name if kind == "tagk" else "k", name if kind == "tagv" else "v")


def ways(d, kind, n, word):
    """(way, refused?, text) of a point with a name of n bytes."""
    m, k, v = parts(kind, n, word)
    for way, line in (("put", "put %s %d 1 %s=%s" % (m, T0, k, v)), ("histogram", "histogram %s %d 0,1=2 %s=%s" % (m + "h" * (kind != "metric"), T0, k, v)),
                      ("rollup", "rollup 1h-sum %s %d 1 %s=%s" % (m, T0, k, v))):
        said = d.talk(line + "\n").decode()
        yield way, said != "", said
    point = {"metric": m, "timestamp": T0, "value": 1, "tags": {k: v}}
    for path, more in (("put", {}), ("histogram", {"value": None, "buckets": {"0,1": 2}}), ("rollup", {"interval": "1h", "aggregator": "sum"})):
        body = {a: b for a, b in {**point, **more}.items() if b is not None}
        status, answer = ask(d, "POST", "/api/%s?details" % path, body)
        yield "/api/" + path, status != 200, json.dumps(answer, ensure_ascii=False)


def assign(d, kind, n, word):
    name = word + long(n - len(word))
    status, answer = ask(d, "POST", "/api/uid/assign", {kind: [name]})
    yield "assign", status != 200, json.dumps(answer)
    old = "old." + word
    ask(d, "POST", "/api/uid/assign", {kind: [old]})
    status, answer = ask(d, "POST", "/api/uid/rename", {kind: old, "name": name[:-1] + "yy"})
    yield "rename", status != 200, json.dumps(answer)


def importing(d, kind, n, word):
    path = d.base + "/import"
    with open(path, "w") as f:
        f.write("%s %d 1 %s=%s\n" % ((lambda m, k, v: (m, T0, k, v))(*parts(kind, n, word))))
    for way, more in (("import into a daemon", ["--port", str(d.port)]), ("import into a folder", ["--data", d.base + "/folder"])):
        p = d.run("import", path, *more, check=False)
        yield way, p.returncode != 0, p.stderr


def names(d):
    for kind, most, key in LIMITS:
        for n in (most, most + 1):
            for f in (ways, assign, importing):
                for way, no, text in f(d, kind, n, "%s%d%s" % (kind, n - most, f.__name__[0])):
                    holds("%s of %d bytes: %s" % (kind, n, way), no == (n > most) and (not no or "%d bytes, at most %d (%s)" % (n, most, key) in text), text)
    d.keys.update(max_metric_bytes=300, max_tagk_bytes=10, max_tagv_bytes=10)
    d.restart()
    said = d.talk("put %s %d 1 k=v\nput m %d 1 %s=v\nput m %d 1 k=%s\n" % ("m" * 300, T0, T0, "k" * 11, T0, "v" * 11)).decode().splitlines()
    check("other limits", [l.rsplit(": ", 1)[1] for l in said], ["11 bytes, at most 10 (max_tagk_bytes)", "11 bytes, at most 10 (max_tagv_bytes)"])


def main():
    with Daemon(workers=2, rollups="true", auto_create_metrics="true", uid_allow_rename="true") as d:
        names(d)
    end("name lengths")


if __name__ == "__main__":
    sys.exit(main())
