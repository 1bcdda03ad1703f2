#!/usr/bin/env python3
"""Ids, metadata of names and series, lookups and searches of a real daemon; also after kill -9 and restart."""
from metakit import ask, check, end, refused
from tsdtest import Daemon

T = 1356998400


def ids(d):
    check("assigned", ask(d, "POST", "/api/uid/assign", {"metric": ["w.temp", "w.rain"], "tagk": ["station"], "tagv": ["EDDF"]}),
          (200, {"metric": {"w.temp": "000001", "w.rain": "000002"}, "tagk": {"station": "000001"}, "tagv": {"EDDF": "000001"}}))
    check("assigned again", ask(d, "POST", "/api/uid/assign", {"metric": ["w.rain", "w.wind"], "tagk": ["bad name"]}),
          (400, {"metric": {"w.wind": "000003"}, "metric_errors": {"w.rain": "Name already exists with UID: 000002"},
                 "tagk": {}, "tagk_errors": {"bad name": "Invalid tagk (\"bad name\"): illegal character:  "}}))
    check("nothing to assign", refused(ask(d, "POST", "/api/uid/assign", {})), (400, "Missing values to assign UIDs"))
    check("no array", ask(d, "POST", "/api/uid/assign", {"metric": "x"})[0], 400)
    check("no body", ask(d, "POST", "/api/uid/assign")[0], 400)
    check("assign by PUT", ask(d, "PUT", "/api/uid/assign", {"metric": ["x"]})[0], 405)
    check("other paths", ask(d, "GET", "/api/uid/nothing")[0], 501)


def points(d):
    d.send("".join("put w.temp %d %d station=%s network=%s\n" % (T + 600 * i, 10 + i, s, n)
                   for s, n in (("EDDF", "dwd"), ("EDDB", "dwd"), ("LFPG", "mf")) for i in range(20)))
    d.send("put w.rain %d 5 station=EDDF\n" % T)
    d.sync()


def renamed(d):
    q = "/api/query?start=%d&end=%d&m=sum:" % (T, T + 20000)
    check("renamed", ask(d, "POST", "/api/uid/rename", {"tagv": "EDDB", "name": "BER"}), (200, {"result": "true"}))
    check("at once", len(ask(d, "GET", q + "w.temp{station=BER}")[1]), 1)
    check("the old name", ask(d, "GET", q + "w.temp{station=EDDB}")[1], [])
    d.send("put w.temp %d 1 station=BER network=dwd\nput w.temp %d 2 station=EDDB network=dwd\n" % (T + 12000, T + 12600))
    d.sync()
    rows = ask(d, "GET", q + "w.temp{station=BER|EDDB}&show_tsuids")[1]
    check("points by the new name go to the old series, those by the old name do not",
          sorted((r["tags"]["station"], len(r["dps"])) for r in rows), [("BER", 21), ("EDDB", 1)])
    check("unknown", ask(d, "POST", "/api/uid/rename", {"metric": "none", "name": "x"}), (400, {"result": "false", "error": "Name(\"none\") does not exist"}))
    check("taken", ask(d, "POST", "/api/uid/rename", {"metric": "w.temp", "name": "w.rain"}), (400, {"result": "false", "error": "Name(\"w.rain\") already exists"}))
    check("bad name", ask(d, "POST", "/api/uid/rename", {"metric": "w.temp", "name": "a b"})[1]["result"], "false")
    check("too little", refused(ask(d, "POST", "/api/uid/rename", {"metric": "w.temp"})), (400, "Missing necessary values to rename UID"))


def deleted(d):
    q = "/api/query?start=%d&end=%d&m=sum:" % (T, T + 20000)
    ask(d, "POST", "/api/uid/assign", {"metric": ["typo"]})
    s, a = ask(d, "POST", "/api/uid/delete", {"metric": ["typo", "never"], "tagv": ["EDDB"]})
    check("deleted", (s, list(a["metric"]), list(a["metric_errors"]), list(a["tagv"])), (400, ["typo"], ["never"], ["EDDB"]))
    check("no name any more", ask(d, "GET", "/api/suggest?type=metrics&q=ty")[1], [])
    check("no suggestion", [n for n in ask(d, "GET", "/api/suggest?type=tagv&max=100")[1] if n.startswith("~")], [])
    check("no value to filter by", ask(d, "GET", q + "w.temp{station=EDDB}")[1], [])
    check("what was written stays", len(ask(d, "GET", q + "w.temp{station=*}")[1]), 4)
    d.send("put typo %d 1 station=EDDB\n" % T)
    d.sync()
    uid = ask(d, "GET", "/api/search/uidmeta?query=type:metric+name%3Dtypo")[1]["results"][0]["uid"]
    check("sent again: a new id", uid > a["metric"]["typo"], True)


def uidmeta(d):
    path = "/api/uid/uidmeta?uid=000001&type=tagv"
    plain = {"uid": "000001", "type": "TAGV", "name": "EDDF", "description": "", "notes": "", "created": 0, "custom": None, "displayName": ""}
    check("defaults", ask(d, "GET", path), (200, plain))
    check("nothing new", ask(d, "POST", "/api/uid/uidmeta", {"uid": "000001", "type": "tagv"}), (304, None))
    custom = {"place": "Frankfurt am Main", "height": "111"}
    full = dict(plain, displayName="Frankfurt", custom=custom)
    check("stored", ask(d, "POST", "/api/uid/uidmeta", {"uid": "000001", "type": "TAGV", "displayName": "Frankfurt", "name": "hack",
                                                        "created": 7, "custom": {"place": "Frankfurt am Main", "height": 111}}), (200, full))
    check("merged", ask(d, "POST", path + "&notes=n"), (200, dict(full, notes="n")))
    check("merged nothing", ask(d, "POST", path + "&notes=n"), (304, None))
    check("replaced", ask(d, "PUT", "/api/uid/uidmeta", {"uid": "000001", "type": "tagv", "displayName": "Frankfurt", "custom": custom}), (200, full))
    check("other kinds are other names", ask(d, "GET", "/api/uid/uidmeta?uid=000001&type=metric")[1]["displayName"], "")
    check("unknown", (lambda a: (a[0], a[1]["error"]["message"], a[1]["error"]["details"]))(ask(d, "GET", "/api/uid/uidmeta?uid=FFFFF0&type=metric")),
          (404, "Could not find the requested UID", "No such unique ID for 'metrics': [-1, -1, -16]"))
    check("unknown, stored", ask(d, "POST", "/api/uid/uidmeta", {"uid": "FFFFF0", "type": "metric", "notes": "x"})[0], 404)
    check("no uid", refused(ask(d, "GET", "/api/uid/uidmeta?type=metric")), (400, "Missing UID"))
    check("no type", refused(ask(d, "GET", "/api/uid/uidmeta?uid=000001")), (400, "Missing type"))
    check("bad type", ask(d, "GET", "/api/uid/uidmeta?uid=000001&type=x")[0], 400)
    check("bad uid", ask(d, "GET", "/api/uid/uidmeta?uid=1&type=tagk")[0], 400)
    ask(d, "POST", "/api/uid/uidmeta", {"uid": "000002", "type": "metric", "notes": "x"})
    check("deleted", ask(d, "DELETE", "/api/uid/uidmeta?uid=000002&type=metric"), (204, None))
    check("defaults again", ask(d, "GET", "/api/uid/uidmeta?uid=000002&type=metric")[1]["notes"], "")
    return full


def tsmeta(d, name):
    tsuid = ask(d, "GET", "/api/search/lookup?m=w.temp{station=EDDF}")[1]["results"][0]["tsuid"]
    s, a = ask(d, "GET", "/api/uid/tsmeta?tsuid=" + tsuid)
    check("of points", (s, a["tsuid"], a["metric"]["name"], [t["name"] for t in a["tags"]], a["created"], a["lastReceived"], a["totalDatapoints"],
                        a["max"], a["units"]),
          (200, tsuid, "w.temp", ["station", "EDDF", "network", "dwd"], T, T + 19 * 600, 20, "NaN", ""))
    check("names with what is said about them", a["tags"][1], name)
    s, a = ask(d, "POST", "/api/uid/tsmeta", {"tsuid": tsuid, "units": "K", "max": 330.5, "retention": "90", "totalDatapoints": 5})
    check("stored", (s, a["units"], a["max"], a["min"], a["retention"], a["totalDatapoints"]), (200, "K", 330.5, "NaN", 90, 20))
    check("nothing new", ask(d, "POST", "/api/uid/tsmeta", {"tsuid": tsuid, "units": "K"}), (304, None))
    check("unknown", ask(d, "GET", "/api/uid/tsmeta?tsuid=0000010000010000FF")[0], 404)
    check("no TSUID", ask(d, "GET", "/api/uid/tsmeta?tsuid=xx")[0], 400)
    check("nothing", ask(d, "GET", "/api/uid/tsmeta")[0], 400)
    rows = ask(d, "GET", "/api/uid/tsmeta?m=w.temp{network=dwd}")[1]
    check("many", sorted(r["tags"][1]["name"] if r["tags"][0]["name"] == "station" else "" for r in rows), ["BER", "EDDB", "EDDF"])
    check("many of unknown names", ask(d, "GET", "/api/uid/tsmeta?m=nothing")[0], 404)
    check("not there", ask(d, "POST", "/api/uid/tsmeta?m=w.rain{station=LFPG}&units=mm")[0], 404)
    s, a = ask(d, "POST", "/api/uid/tsmeta?m=w.rain{station=LFPG}&create=true&units=mm")
    check("created", (s, a["units"], a["totalDatapoints"]), (200, "mm", 0))
    check("created of unknown names", ask(d, "POST", "/api/uid/tsmeta?m=w.rain{station=Mars}&create=true&units=mm")[0], 404)
    return tsuid


def search(d, tsuid):
    def find(kind, query, **more):
        a = ask(d, "GET", "/api/search/%s?query=%s%s" % (kind, query, "".join("&%s=%s" % m for m in more.items())))[1]
        return a["results"], a["totalResults"]
    lookup = lambda m, more="": [tuple(sorted(r["tags"].items())) for r in ask(d, "GET", "/api/search/lookup?m=" + m + more)[1]["results"]]
    check("lookup", len(lookup("w.temp")), 4)
    check("lookup of a pair", lookup("w.temp{station=BER}"), [(("network", "dwd"), ("station", "BER"))])
    check("a key", len(lookup("{network=}")), 4)
    check("a bare value", len(lookup("{=EDDF}")), 2)
    check("one key twice", len(lookup("w.temp{station=EDDF,station=LFPG}")), 2)
    check("a star swallows others", len(lookup("w.temp{station=EDDF,station=*}")), 4)
    check("two keys", len(lookup("w.temp{station=*,network=mf}")), 1)
    check("two bare values", len(lookup("{=LFPG,=BER}")), 3)
    check("limit", len(lookup("w.temp", "&limit=2")), 2)
    check("unknown name", (lambda a: (a[0], a[1]["error"]["message"], a[1]["error"]["details"]))(ask(d, "GET", "/api/search/lookup?m={station=nobody}")),
          (404, "Unable to resolve one or more UIDs", "No such name for 'tagv': 'nobody'"))
    check("nothing", refused(ask(d, "GET", "/api/search/lookup")), (400, "Missing metric and tags. Please supply at least one value."))
    a = ask(d, "POST", "/api/search/lookup", {"metric": "w.temp", "tags": [{"key": "station", "value": "*"}], "limit": 100})[1]
    check("POST", (a["type"], a["metric"], a["tags"], a["limit"], a["startIndex"], a["totalResults"]),
          ("LOOKUP", "w.temp", [{"key": "station", "value": "*"}], 100, 0, 4))
    check("other methods", refused(ask(d, "PUT", "/api/search/lookup", {})), (400, "Unsupported method: PUT"))
    check("other types", refused(ask(d, "GET", "/api/search/bogus?query=a")), (400, "Invalid search query type supplied"))
    check("no query", ask(d, "GET", "/api/search/tsmeta")[0], 400)
    check("names by a free text", [r["name"] for r in find("uidmeta", "place:frankfurt")[0]], ["EDDF"])
    check("any field", [r["name"] for r in find("uidmeta", "am+main")[0]], ["EDDF"])
    check("like", sorted(r["name"] for r in find("uidmeta", "name:w.*")[0]), ["w.rain", "w.temp", "w.wind"])
    check("exact", [r["name"] for r in find("uidmeta", "name=w.rain+type=metric")[0]], [])
    check("exact kind", find("uidmeta", "type=METRIC+name=w.rain")[1], 1)
    check("a regular expression", sorted(r["name"] for r in find("uidmeta", "name:/^[A-Z]{4}$/")[0]), ["EDDB", "EDDF", "LFPG"])
    check("bad expression", ask(d, "GET", "/api/search/uidmeta?query=name:/%5B/")[0], 400)
    check("series by tag and unit", find("tsuids", "station:eddf+units=K"), ([tsuid], 1))
    check("summaries", find("tsmeta_summary", "metric=w.temp+station=LFPG")[0][0]["tags"], {"station": "LFPG", "network": "mf"})
    check("tsmeta", find("tsmeta", "units:k")[0][0]["metric"]["name"], "w.temp")
    rows, n = find("tsuids", "*", limit=2, start_index=1)
    check("pages", (len(rows), n), (2, len(find("tsuids", "*", limit=0)[0])))
    ask(d, "POST", "/api/annotation", {"startTime": T, "tsuid": tsuid, "description": "New sensor", "custom": {"by": "ops"}})
    check("notes", [r["tsuid"] for r in find("annotation", "by:ops+sensor")[0]], [tsuid])
    check("DELETE is no search", ask(d, "DELETE", "/api/search/lookup?m=w.temp")[0], 400)


def as_opentsdb():
    with Daemon(workers=2, compat="opentsdb", auto_create_metrics="true") as d:
        points(d)
        tsuid = ask(d, "GET", "/api/query?start=%d&m=sum:w.rain&show_tsuids" % T)[1][0]["tsuids"][0]
        check("no meta table: nothing found", ask(d, "GET", "/api/search/lookup?m=w.temp")[1]["results"], [])
        check("the data table", len(ask(d, "POST", "/api/search/lookup", {"metric": "w.temp", "useMeta": False})[1]["results"]), 3)
        check("no plug-in", refused(ask(d, "GET", "/api/search/tsmeta?query=a")), (400, "Searching is not enabled"))
        check("no tsmeta", ask(d, "GET", "/api/uid/tsmeta?tsuid=" + tsuid)[0], 404)
        check("our own door", len(ask(d, "GET", "/api/find/lookup?m=w.temp")[1]["results"]), 3)


with Daemon(workers=2, uid_allow_delete="true", uid_allow_rename="true") as d:
    ids(d)
    points(d)
    renamed(d)
    name = uidmeta(d)
    tsuid = tsmeta(d, name)
    search(d, tsuid)
    d.kill()
    d.start()
    check("after kill -9", ask(d, "GET", "/api/uid/uidmeta?uid=000001&type=tagv"), (200, name))
    search(d, tsuid)
    deleted(d)
    check("new names are kept", ask(d, "POST", "/api/uid/assign", {"metric": ["last"]})[0], 200)
    d.kill()
    d.start()
    check("after another", "Name already exists" in str(ask(d, "POST", "/api/uid/assign", {"metric": ["last"]})[1]), True)
    check("units", ask(d, "GET", "/api/uid/tsmeta?tsuid=" + tsuid)[1]["units"], "K")
    check("still deleted", ask(d, "GET", "/api/query?start=%d&m=sum:w.temp{station=EDDB}" % T)[1], [])
as_opentsdb()
end("metadata")
