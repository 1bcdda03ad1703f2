#!/usr/bin/env python3
"""Annotations of a real daemon: merged, replaced, deleted, in answers to queries, after kill -9 and restart."""
from metakit import ask, check, end, refused
from tsdtest import Daemon

T = 1356998400


def tsuids(d):
    d.send("".join("put an.m %d %d host=%s\n" % (T + 10 * i, i, h) for h in ("a", "b") for i in range(10)))
    d.sync()
    rows = ask(d, "GET", "/api/query?start=%d&end=%d&m=sum:an.m{host=*}&show_tsuids" % (T, T + 100))[1]
    return {r["tags"]["host"]: r["tsuids"][0] for r in rows}


def single(d, ids):
    note = {"startTime": T + 20, "endTime": T + 80, "tsuid": ids["a"], "description": "Reboot", "notes": "by \"hand\"",
            "custom": {"owner": "ops", "dept": "x"}}
    check("stored", ask(d, "POST", "/api/annotation", note), (200, note))
    check("nothing new", ask(d, "POST", "/api/annotation", note), (304, None))
    check("nothing new by PUT", ask(d, "PUT", "/api/annotation", note), (304, None))
    path = "/api/annotation?start_time=%d&tsuid=%s" % (T + 20, ids["a"])
    check("read", ask(d, "GET", path), (200, note))
    check("read in small letters", ask(d, "GET", path.lower()), (200, note))
    check("milliseconds are the same time", ask(d, "GET", "/api/annotation?start_time=%d000&tsuid=%s" % (T + 20, ids["a"])), (200, note))
    merged = dict(note, notes="by nobody")
    check("merged", ask(d, "POST", "/api/annotation", {"startTime": str(T + 20), "tsuid": ids["a"], "notes": "by nobody"}), (200, merged))
    put = {"startTime": T + 20, "endTime": 0, "tsuid": ids["a"], "description": "New", "notes": ""}
    check("replaced", ask(d, "PUT", "/api/annotation", {"startTime": T + 20, "tsuid": ids["a"], "description": "New"}), (200, put))
    check("POST without a body", ask(d, "POST", path + "&notes=x"), (200, dict(put, notes="x")))
    check("other series", refused(ask(d, "GET", "/api/annotation?start_time=%d&tsuid=%s" % (T + 20, ids["b"]))),
          (404, "Unable to locate annotation in storage"))
    check("no time", refused(ask(d, "GET", "/api/annotation?tsuid=" + ids["a"])), (400, "Missing start time"))
    check("no time in a body", refused(ask(d, "POST", "/api/annotation", {"description": "x"})), (400, "Missing start time"))
    check("no TSUID", ask(d, "GET", "/api/annotation?start_time=1&tsuid=00zz")[0], 400)
    check("no body, no time", ask(d, "POST", "/api/annotation")[0], 400)
    check("no text", ask(d, "POST", "/api/annotation", {"startTime": T, "notes": {}})[0], 400)
    check("an array", ask(d, "POST", "/api/annotation", [])[0], 400)
    check("deleted", ask(d, "DELETE", path), (204, None))
    check("gone", ask(d, "GET", path)[0], 404)
    check("deleted twice", ask(d, "DELETE", path), (204, None))


def many(d, ids):
    notes = [{"startTime": T + i, "endTime": 0, "tsuid": ids["ab"[i % 2]], "description": "n%d" % i, "notes": ""} for i in (30, 7, 50, 12)]
    everywhere = [{"startTime": T + i, "endTime": T + 2 * i, "tsuid": "", "description": "g%d" % i, "notes": ""} for i in (5, 40)]
    check("bulk", ask(d, "POST", "/api/annotation/bulk", notes), (200, notes))
    check("bulk, global", ask(d, "PUT", "/api/annotation/bulk", everywhere), (200, everywhere))
    check("bulk is no GET", ask(d, "GET", "/api/annotation/bulk")[0], 405)
    check("bulk of one that is bad", ask(d, "POST", "/api/annotation/bulk", [{"startTime": T + 1}, {"notes": "x"}])[0], 400)
    check("and none of it was stored", ask(d, "GET", "/api/annotation?start_time=%d" % (T + 1))[0], 404)
    check("globals", ask(d, "GET", "/api/annotations?start_time=%d&end_time=%d" % (T, T + 100)), (200, everywhere))
    check("globals that ended", ask(d, "GET", "/api/annotations?start_time=%d&end_time=%d" % (T, T + 60)), (200, everywhere[:1]))
    check("globals without time", refused(ask(d, "GET", "/api/annotations")), (400, "Missing start time"))
    return sorted(notes, key=lambda n: n["startTime"]), everywhere


def queried(d, notes, everywhere):
    def rows(params):
        return ask(d, "GET", "/api/query?start=%d&end=%d&%s" % (T, T + 100, params))[1]
    r = rows("m=sum:an.m")[0]
    check("all notes of a group, by time", r["annotations"], notes)
    check("globals only on demand", "globalAnnotations" in r, False)
    check("order of members", list(r), ["metric", "tags", "aggregateTags", "annotations", "dps"])
    r = rows("m=sum:an.m{host=*}&global_annotations")
    check("notes of each", [x["annotations"] for x in r], [[n for n in notes if n["startTime"] % 2 == 0], [n for n in notes if n["startTime"] % 2]])
    check("globals in each", [x["globalAnnotations"] for x in r], [everywhere, everywhere])
    d.send("put an.m %d 1 host=c\n" % (T + 7200))
    d.sync()
    c = ask(d, "GET", "/api/query?start=%d&m=sum:an.m{host=c}&show_tsuids" % (T + 7200))[1][0]["tsuids"][0]
    ask(d, "POST", "/api/annotation", {"startTime": T + 33, "tsuid": c, "description": "of c"})
    check("no notes of series that have no points in this time", rows("m=sum:an.m")[0]["annotations"], notes)
    ask(d, "DELETE", "/api/annotation?start_time=%d&tsuid=%s" % (T + 33, c))
    check("none wanted", "annotations" in rows("m=sum:an.m&no_annotations")[0], False)
    r = ask(d, "GET", "/api/query?start=%d&end=%d&m=sum:an.m" % (T + 12, T + 30))[1][0]
    check("both ends count", [n["startTime"] - T for n in r["annotations"]], [12, 30])
    r = ask(d, "POST", "/api/query", {"start": T, "end": T + 100, "globalAnnotations": True, "queries": [{"aggregator": "sum", "metric": "an.m"}]})[1]
    check("POST", (r[0]["annotations"], r[0]["globalAnnotations"]), (notes, everywhere))


def deleted(d, ids):
    check("bulk delete of nothing", refused(ask(d, "DELETE", "/api/annotation/bulk?start_time=%d" % T)),
          (400, "Missing the TSUIDs or global annotations flag"))
    check("bulk delete without start", refused(ask(d, "DELETE", "/api/annotation/bulk?global")), (400, "Missing start time"))
    s, a = ask(d, "DELETE", "/api/annotation/bulk", {"startTime": T + 10, "endTime": str(T + 40), "tsuids": [ids["a"], ids["b"]]})
    check("bulk delete", (s, a["totalDeleted"], a["tsuids"], a["global"]), (200, 2, [ids["a"], ids["b"]], False))
    s, a = ask(d, "DELETE", "/api/annotation/bulk?start_time=%d&end_time=%d&global=true&tsuids=%s" % (T, T + 10, ids["b"]))
    check("bulk delete in a query string", (s, a["totalDeleted"], a["global"]), (200, 2, True))
    check("what is left", [n["startTime"] - T for n in ask(d, "GET", "/api/query?start=%d&m=sum:an.m" % T)[1][0]["annotations"]], [50])
    check("globals left", len(ask(d, "GET", "/api/annotations?start_time=1")[1]), 1)


def limits(d, ids):
    """annotation_max_bytes at its edge, whichever way the texts come, and added up over several requests."""
    big = "x" * (64 << 10)
    check("the most", ask(d, "POST", "/api/annotation", {"startTime": T + 90, "notes": big})[0], 200)
    for what, note in (("one more", {"notes": big + "x"}), ("in two fields", {"notes": big, "description": "x"}), ("in a map", {"custom": {"k": big}})):
        s, m = refused(ask(d, "POST", "/api/annotation", dict(note, startTime=T + 91)))
        check(what, (s, "annotation_max_bytes = 65536" in m), (413, True))
        check(what + " in bulk", ask(d, "POST", "/api/annotation/bulk", [{"startTime": T + 92}, dict(note, startTime=T + 91)])[0], 413)
    check("added to what is there", ask(d, "POST", "/api/annotation", {"startTime": T + 90, "description": big[:4096]})[0], 413)
    check("metadata of a name", ask(d, "POST", "/api/uid/uidmeta", {"uid": "000001", "type": "metric", "notes": big + "x"})[0], 413)
    check("metadata of a series", ask(d, "POST", "/api/uid/tsmeta", {"tsuid": ids["a"], "notes": big + "x"})[0], 413)
    check("a tree", ask(d, "POST", "/api/tree", {"name": "t", "notes": big})[0], 413)
    for i in range(2):
        s, _ = ask(d, "POST", "/api/uid/uidmeta", {"uid": "000001", "type": "metric", "customMerge": {"k%d" % i: big[:40000]}})
        check("custom fields one by one", s, (200, 413)[i])
    ask(d, "DELETE", "/api/annotation?start_time=%d" % (T + 90))


def of_series(d, ids):
    """Our own parameter tsuids at /api/annotations."""
    for i, h in enumerate("ab"):
        ask(d, "POST", "/api/annotation", {"startTime": T + 60 + i, "tsuid": ids[h], "description": h})
    path = "/api/annotations?start_time=%d&end_time=%d&tsuids=" % (T + 60, T + 70)
    check("of one", [n["description"] for n in ask(d, "GET", path + ids["b"])[1]], ["b"])
    check("of both", [n["description"] for n in ask(d, "GET", path + ids["a"] + "," + ids["b"])[1]], ["a", "b"])
    check("no id", ask(d, "GET", path + "xyz")[0], 400)
    ask(d, "DELETE", "/api/annotation/bulk", {"startTime": T + 60, "endTime": T + 70, "tsuids": [ids["a"], ids["b"]]})


with Daemon(workers=2, meta_allow_delete="true") as d:
    ids = tsuids(d)
    single(d, ids)
    notes, everywhere = many(d, ids)
    queried(d, notes, everywhere)
    d.kill()
    d.start()
    queried(d, notes, everywhere)
    out = d.run("query", str(T), str(T + 100), "sum", "an.m", "--format", "json", "--port", str(d.port)).stdout
    check("tsd query shows them too", '"annotations":[' in out)
    d.restart()
    queried(d, notes, everywhere)
    limits(d, ids)
    of_series(d, ids)
    deleted(d, ids)
    d.kill()
    d.start()
    check("still deleted", [n["startTime"] - T for n in ask(d, "GET", "/api/query?start=%d&m=sum:an.m" % T)[1][0]["annotations"]], [50])
end("annotations")
