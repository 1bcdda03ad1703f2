#!/usr/bin/env python3
"""Misspelt parameters and members are refused and named; what OpenTSDB documents and what real clients send is taken.

The requests of clients are those of docs/COMPATIBILITY.md's list of clients and of the recorded answers (tests/golden/opentsdb).
"""
import http.client
import json
import time

from metakit import ask, check, end, holds, refused
from tsdtest import ROOT, Daemon

T0 = 1500000000 - 1500000000 % 3600
RANGE = "start=%d&end=%d" % (T0, T0 + 60)

# (path, parameter that is refused, the one that is meant or None)
PARAMETERS = (
    ("/api/query?%s&m=sum:m&downsampel=1h-avg" % RANGE, "downsampel", None),
    ("/api/query?%s&m=sum:m&arays" % RANGE, "arays", "arrays"),
    ("/api/query?start=%d&edn=%d&m=sum:m" % (T0, T0 + 60), "edn", "end"),
    ("/api/query?%s&m=sum:m&by=day&tpo=3" % RANGE, "tpo", "top"),
    ("/api/query?%s&m=sum:m&delete=true" % RANGE, "delete", None),
    ("/api/query/explain?%s&m=sum:m&rnak=max" % RANGE, "rnak", "rank"),
    ("/api/query/gexp?%s&exp=scale(sum:m,2)&ms_=1" % RANGE, "ms_", "ms"),
    ("/api/query/last?timeseries=m&backscan=3", "backscan", "back_scan"),
    ("/api/suggest?type=metrics&prefix=m", "prefix", None),
    ("/suggest?type=metrics&limit=5", "limit", None),
    ("/api/search/lookup?m=m&limti=3", "limti", "limit"),
    ("/api/annotation?start=%d" % T0, "start", "start_time"),
    ("/api/annotations?start_time=1&end_tiem=2", "end_tiem", "end_time"),
    ("/api/uid/uidmeta?uid=000001&tpye=metric", "tpye", "type"),
    ("/api/uid/tsmeta?tsuids=000001000001000001", "tsuids", "tsuid"),
    ("/api/metric?metrc=m", "metrc", "metric"),
    ("/api/export?metric=m&form=2017-07-14", "form", "from"),
    ("/api/scan?%s&m=sum:m&imprt" % RANGE, "imprt", "import"),
    ("/api/delete?start=%d&edn=%d&m=sum:m" % (T0, T0 + 60), "edn", "end"),
    ("/api/stats/query?di=3", "di", None),
    ("/api/tree/branch?treid=1", "treid", "treeid"),
    ("/api/admin/flush?levle=disk", "levle", "level"),
    ("/q?%s&m=sum:m&ascii&yragne=[0:]" % RANGE, "yragne", "yrange"),
)

# (path, body, member that is refused, the one that is meant)
SUB = {"metric": "m", "aggregator": "sum"}
MEMBERS = (
    ("/api/query", {"start": T0, "edn": T0, "queries": [SUB]}, "edn", "end"),
    ("/api/query", {"start": T0, "queries": [dict(SUB, downsampel="1h-avg")]}, "downsampel", "downsample"),
    ("/api/query", {"start": T0, "queries": [dict(SUB, explicittags=True)]}, "explicittags", "explicitTags"),
    ("/api/query", {"start": T0, "queries": [dict(SUB, filters=[{"type": "wildcard", "tagk": "h", "filter": "*", "groupBY": True}])]}, "groupBY", "groupBy"),
    ("/api/query/explain", {"start": T0, "timezoen": "Europe/Berlin", "queries": [SUB]}, "timezoen", "timezone"),
    ("/api/query/last", {"querys": [{"metric": "m"}]}, "querys", "queries"),
    ("/api/query/last", {"queries": [{"metric": "m", "tag": {"h": "a"}}]}, "tag", "tags"),
    ("/api/query/exp", {"time": {"start": T0, "aggregator": "sum", "downsample": {}}, "metrics": [{"id": "a", "metric": "m"}]}, "downsample", "downsampler"),
    ("/api/suggest", {"type": "metrics", "maxx": 3}, "maxx", "max"),
    ("/api/search/lookup", {"metric": "m", "startindex": 3}, "startindex", "startIndex"),
    ("/api/annotation", {"startTime": T0, "descripton": "x"}, "descripton", "description"),
    ("/api/annotation/bulk", [{"startTime": T0, "note": "x"}], "note", "notes"),
    ("/api/uid/uidmeta", {"uid": "000001", "type": "metric", "displayname": "x"}, "displayname", "displayName"),
)

# What clients send: none of this is unknown.
TAKEN = (
    "/api/suggest?type=metrics&q=a&max=1000",
    "/api/search/lookup?m=m%7Bhost%3D*%2Cjob%3Dx%7D&limit=1000",
    "/api/search/lookup?m=m&limit=10&use_meta=true",
    "/api/query?start=%d&end=%d&m=sum:1m-avg-none:m{h=a}" % (T0, T0 + 60),
    "/api/query?ms=true&arrays=true&show_tsuids=true&no_annotations=false&global_annotations=true&start=%d000&end=%d000&m=sum:1m-avg:m{h=*}" % (T0, T0 + 60),
    "/api/query/?%s&m=sum:m&show_query&show_stats&show_summary&padding&jsonp=cb&serializer=json&_=1795227495000" % RANGE,
    "/api/query?%s&m=sum:1h-sum:m&timezone=Europe/Berlin&useCalendar=true" % RANGE,
    "/api/query?%s&m=sum:m&tz=Europe/Berlin" % RANGE,
    "/api/query/last?timeseries=m&resolve&back_scan=24",
    "/q?%s&m=sum:m&o=&yrange=%%5B0:%%5D&wxh=900x300&key=out&ylabel=x&style=linespoint&smooth=csplines&ascii&ignore=3&nocache&nagios&autoreload=15" % RANGE,
    "/api/version?token=3", "/api/aggregators?_=3", "/api/config?x=1", "/api/stats?json", "/stats?json", "/logs?json",
)
FLAGS = ("msResolution", "showTSUIDs", "noAnnotations", "globalAnnotations", "showSummary", "showStats", "showQuery", "delete", "useCalendar")
RECENT_MS = (int(time.time()) - 3600) * 1000  # a fill policy answers each minute up to now
BODIES = (
    ("/api/query?arrays=true", {"start": RECENT_MS, "end": "now", "msResolution": False, "globalAnnotations": True, "showQuery": True, "queries": [
        {"metric": "m", "aggregator": "sum", "downsample": "1m-avg-nan", "rate": True, "explicitTags": False,
         "rateOptions": {"counter": True, "counterMax": 100, "resetValue": 0, "dropResets": False},
         "filters": [{"type": "wildcard", "tagk": "h", "filter": "*", "groupBy": True}]}]}),
    ("/api/query/", dict({f: False for f in FLAGS}, start=T0, end=T0 + 60, timezone="UTC", queries=[SUB])),
    ("/api/query", {"start": T0, "end": None, "queries": [dict(SUB, rate=None, rateOptions=None, downsample=None, tags={})]}),
    ("/api/query", {"start": T0, "queries": [dict(SUB, index=0, filterTagKs=None, useFuzzyFilter=True, useMultiGets=True, rollupUsage=None,
                                                   rollupTable="raw", preAggregate=False, showHistogramBuckets=False, histogramQuery=False)]}),
    ("/api/query/last", {"queries": [{"metric": "m", "tags": {"h": "a"}}], "resolveNames": True, "backScan": 24}),
    ("/api/suggest/", {"type": "metrics", "q": "", "max": 25}),
    ("/api/put?details=true&tenant=7", [{"metric": "m", "timestamp": T0, "value": 1, "tags": {"h": "a"}}]),
)


def unknown(d, path, body=None):
    """Why a request is refused, if it is for a name; else None."""
    answer = ask(d, "GET" if body is None else "POST", path, body)
    text = str(answer[1])
    return text if answer[0] == 400 and ("Unknown parameter" in text or "Unknown member" in text) else None


def hint(what, name, meant):
    return (400, "Unknown %s: %s%s" % (what, name, "; did you mean %s?" % meant if meant else ""))


def own(d):
    for path, name, meant in PARAMETERS:
        if path.startswith("/api/"):
            check(path, refused(ask(d, "GET", path)), hint("parameter", name, meant))
        else:
            holds(path, hint("parameter", name, meant)[1] in str(ask(d, "GET", path)), ask(d, "GET", path))
    for path, body, name, meant in MEMBERS:
        check("%s %s" % (path, body), refused(ask(d, "POST", path, body)), hint("member", name, meant))
    for path in TAKEN:
        check(path, unknown(d, path.replace("{", "%7B").replace("}", "%7D")), None)
    for path, body in BODIES:
        check("%s %s" % (path, body), unknown(d, path, body), None)
    check("a writer's misspelt flag", refused(ask(d, "POST", "/api/put?detials", [])), hint("parameter", "detials", "details"))
    check("what the writer sent is stored", ask(d, "GET", "/api/query?%s&m=sum:m" % RANGE)[1][0]["dps"], {str(T0): 1})


def passed_over(d):
    """Members that are near to nothing are named in a header."""
    body = {"start": T0, "refId": "A", "queries": [dict(SUB, alias="x\r\ny", hide=False), dict(SUB, metric="m2", alias="z")]}
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    ask(d, "POST", "/api/put", [{"metric": "m2", "timestamp": T0, "value": 1, "tags": {"h": "a"}}])
    for sent, want in ((body, "refId, alias, hide"), ({"start": T0, "queries": [SUB]}, None), ({"start": T0, "queries": [SUB], "gr\r\noup": 1}, "gr??oup")):
        c.request("POST", "/api/query", json.dumps(sent))
        r = c.getresponse()
        r.read()
        check("members that were passed over", (r.status, r.headers.get("X-Tsd-Ignored")), (200, want))
    c.close()


def recorded(d):
    """Requests that OpenTSDB was asked: it ignores what it does not know, and little of that is in them."""
    known = {}
    with open(ROOT + "/tests/golden/opentsdb/cases.jsonl", encoding="utf-8") as f:
        for line in f:
            case = json.loads(line)
            body = case.get("body")
            try:
                why = unknown(d, case["path"], json.loads(body) if body else None)
            except ValueError:
                continue  # a body that is no JSON
            if why:
                known[case["id"]] = why
    check("recorded requests with unknown names", known, {})


def compat(d):
    ask(d, "POST", "/api/uid/assign", {"metric": ["m"]})
    ask(d, "POST", "/api/put?detials", [{"metric": "m", "timestamp": T0, "value": 1, "tags": {"h": "a"}}])
    for path, _, _ in PARAMETERS:
        check("compat: " + path, unknown(d, path), None)
    for path, body, _, _ in MEMBERS:
        check("compat: %s %s" % (path, body), unknown(d, path, body), None)
    check("compat: the rest is answered", ask(d, "GET", PARAMETERS[0][0])[1][0]["dps"], {str(T0): 1})


def main():
    with Daemon(workers=2) as d:
        own_first = [{"metric": "m", "timestamp": T0, "value": 1, "tags": {"h": "a"}}]
        ask(d, "POST", "/api/put", own_first)
        own(d)
        passed_over(d)
        recorded(d)
    with Daemon(workers=2, compat="opentsdb") as d:
        compat(d)
    end("unknown names")


if __name__ == "__main__":
    main()
