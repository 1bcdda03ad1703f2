#!/usr/bin/env python3
"""Each row of docs/COMPATIBILITY.md, "Points and queries", asked of a daemon in its own ways and of one with compat = opentsdb.

A row of the page is named in its first column; a function below has the same name and gives what each mode should answer.
A row without a function, or a function without a row, fails.
"""
import http.client
import json
import re
import socket
import sys
import time
import urllib.parse

from tsdtest import ROOT, Daemon, free_port, until

T0 = 1500000000 - 1500000000 % 3600
failures = []


class Side:
    """One daemon and its way."""

    def __init__(self, d, compat):
        self.d, self.compat = d, compat

    def ask(self, path, body=None, method=None):
        c = http.client.HTTPConnection("127.0.0.1", self.d.port, timeout=300)
        data = body if isinstance(body, str) or body is None else json.dumps(body)
        c.request(method or ("POST" if body is not None else "GET"), urllib.parse.quote(path, safe="/?&=%:,;"), data)
        r = c.getresponse()
        raw = r.read().decode()
        c.close()
        try:
            return r.status, json.loads(raw, object_pairs_hook=lambda p: p if len(dict(p)) < len(p) else dict(p))
        except ValueError:
            return r.status, raw

    def lines(self, text):
        """Replies to lines, in the order of the connection."""
        got = self.d.talk((text if isinstance(text, bytes) else text.encode()) + b"sync\n").decode()
        return [x for x in got.splitlines() if not x.startswith("ok ")]

    def put(self, *points):
        for p in points:
            said = self.lines("put " + p + "\n")
            if said:
                raise AssertionError("%s: %s" % (p, said))

    def dps(self, m, start=T0 - 7200, end=T0 + 7200, more=""):
        """Points of the first series."""
        status, rows = self.ask("/api/query?start=%s&end=%s&m=%s%s" % (start, end, m, more))
        return rows[0]["dps"] if status == 200 and rows else (status, rows)

    def message(self, answer):
        return answer[0], answer[1]["error"]["message"] if isinstance(answer[1], dict) and "error" in answer[1] else answer[1]


# Each gives (what the daemon answered, what it should): own ways, compat.
def new_metrics(s):
    said = s.lines("put new.metric %d 1 h=a\n" % T0)
    return said, ["put: unknown metric: No such name for 'metrics': 'new.metric'"] if s.compat else []


def many_tags(s):
    said = s.lines("put a %d 1 %s\n" % (T0, " ".join("t%d=v" % i for i in range(9))))
    return [x.split(",")[0] for x in said], ["put: illegal argument: Too many tags: 9 maximum allowed: 8"] if s.compat else []


def empty_put(s):
    return s.message(s.ask("/api/put", []))[0], 400 if s.compat else 204


def fraction_of_seconds(s):
    s.put("frac %d.5 7 h=a" % T0)
    early = s.ask("/api/query?start=1ms&end=4294967296&ms&m=sum:frac")[1]
    return [list(r["dps"]) for r in early], [[str(T0 * 10 + 5)]] if s.compat else [[str(T0 * 1000 + 500)]]


def fraction_in_json(s):
    s.ask("/api/put", {"metric": "jfrac", "timestamp": T0 + 0.25, "value": 1, "tags": {"h": "a"}})
    return s.dps("sum:jfrac", more="&ms"), {str(T0 * 1000 + (0 if s.compat else 250)): 1}


def letters(s):
    s.lines("put utf.m %d 1 h=ä\n" % T0)
    rows = s.ask("/api/query?start=%d&end=%d&m=none:utf.m" % (T0 - 1, T0 + 1))[1]
    seen = rows[0]["tags"]["h"] if isinstance(rows, list) and rows else None
    return seen, None if s.compat else "ä"


def capitals(s):
    return bool(s.lines("PUT a %d 1 h=a\n" % T0)), s.compat


def same_time(s):
    s.put("dup %d 1 h=a" % T0, "dup %d 2.5 h=a" % T0)
    return s.dps("sum:dup"), {str(T0): 2.5}


def same_second(s):
    s.put("sec %d100 1 h=a" % T0, "sec %d600 2 h=a" % T0)
    return s.dps("sum:sec", more="&arrays"), [[T0, 1], [T0, 2]] if s.compat else [[T0, 3]]


def unknown_value(s):
    got = s.ask("/api/query?start=%d&end=%d&m=sum:two{h=nobody}" % (T0, T0 + 60))
    return s.message(got), (400, "No such name for 'tagv': 'nobody'") if s.compat else (200, [])


def first_rate(s):
    got = s.dps("sum:rate:two")
    bogus = T0 + 10
    return str(bogus) in got and abs(got[str(bogus)] - 1) > 1e-9, s.compat


def percentiles(s):
    got = s.dps("sum:1m-ep75r3:ten")
    return got, {str(T0): 82.5 if s.compat else 80.0}


def zone_in_uri(s):
    got = s.ask("/api/query?start=2017/07/14-04:00&end=2017/07/14-06:00&timezone=Europe/Berlin&m=sum:two")[1]
    return bool(got and got[0]["dps"]), not s.compat


def ms_in_body(s):
    got = s.ask("/api/query", {"start": T0 - 1, "end": T0 + 5, "ms": True, "queries": [{"metric": "two", "aggregator": "sum", "tags": {"h": "a"}}]})[1]
    return list(got[0]["dps"]), [str(T0) if s.compat else str(T0 * 1000)]


def filter_types(s):
    got = s.ask("/api/query", {"start": T0, "queries": [{"metric": "two", "aggregator": "sum", "filters": [{"type": "x", "tagk": "h", "filter": "a"}]}]})
    return s.message(got)[1], "Unable to parse the given JSON" if s.compat else "Could not find a tag value filter of the type: x"


def explicit_groups(s):
    s.put("ex %d 1 h=a" % T0, "ex %d 2 h=b dc=x" % T0, "ex %d 3 h=c" % T0, "ex %d 4 h=c dc=x" % T0)
    ask = {"start": T0, "end": T0 + 60, "queries": [{"metric": "ex", "aggregator": "sum", "explicitTags": True,
                                                       "filters": [{"type": "wildcard", "tagk": "h", "filter": "*", "groupBy": True}]}]}
    groups = [{"metric": "ex", "tags": {"h": h}, "aggregateTags": [], "dps": {str(T0): v}} for h, v in (("a", 1), ("c", 3))]
    nothing = {"metric": "", "tags": {}, "aggregateTags": [], "dps": {}}
    got = s.ask("/api/query", ask)[1]
    return sorted(got, key=str) if isinstance(got, list) else got, sorted(groups + ([nothing] if s.compat else []), key=str)


def fraction_in_query(s):
    got = s.dps("sum:half", start="%d.5" % T0, end=T0 + 100, more="&ms")
    first = got.get(str(T0 * 1000 + 400), None)
    return first, 1 if s.compat else None


def end_that_is_a_date(s):
    s.put("ends %d 1 h=a" % T0, "ends %d 2 h=a" % (T0 + 60))
    day = time.strftime("%Y/%m/%d", time.gmtime(T0))
    got = s.dps("sum:ends", start="2017/07/01", end=day)
    return len(got) if isinstance(got, dict) else 0, 0 if s.compat else 2


def range_of_an_instant(s):
    status, answer = s.ask("/api/query?start=%d&end=%d&m=sum:ends" % (T0, T0))
    return (status, [r["dps"] for r in answer] if status == 200 else answer["error"]["message"][:8]), (400, "End time") if s.compat else (200, [{str(T0): 1}])


def forms_of_times(s):
    said = [s.ask("/api/query?start=%s&m=sum:ends" % t)[0] for t in ("2017-07-14T02:40:00%2B00:00", "2017-07", "now-1h", "yesterday", "2017/02/30")]
    return said, [400, 400, 400, 400, 200] if s.compat else [200, 200, 200, 200, 400]


def digits_of_dates(s):
    said = [len(s.ask("/api/query?start=%s&end=%s&m=sum:ends" % t)[1]) for t in (("2017", "2018"), ("20170713", "20170714"))]
    said.append(s.ask("/api/query?start=201707&m=sum:ends")[0])
    return said, [0, 0, 200] if s.compat else [1, 1, 400]


def durations(s):
    said = [len(s.ask("/api/query?start=%s-ago&m=sum:1%s-sum:ends" % t)[1]) for t in (("100years", "hours"), ("36500days", "day"))]
    return said, [0, 0] if s.compat else [1, 1]


def times_as_text(s):
    return s.ask("/api/query?start=2017/07/01&end=%d&m=sum:ends&format=text" % (T0 + 30))[1], \
        "ends %d000 1 {h=a}\n" % T0 if s.compat else "ends %s 1 {h=a}\n" % time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(T0))


def kinds_of_metrics(s):
    s.put("web.hits %d 6 h=a" % T0, "web.hits %d 2 h=a" % (T0 + 7200), "web.hits %d 1 h=b" % (T0 + 3600))
    want = {str(T0): 6, str(T0 + 3600): 5 if s.compat else 1, str(T0 + 7200): 2}
    span = "start=%d&end=%d" % (T0 - 10, T0 + 7200)
    tsuids = ",".join(r["tsuids"][0] for r in s.ask("/api/query?%s&show_tsuids&m=sum:web.hits{h=*}" % span)[1])
    by_number = s.ask("/api/query?%s&tsuid=sum:%s" % (span, tsuids))[1][0]["dps"]
    function = s.ask("/api/query/gexp?%s&exp=scale(sum:web.hits,1)" % span)[1][0]["dps"]
    formula = s.ask("/api/query/exp", {"time": {"start": str(T0 - 10), "end": str(T0 + 7200), "aggregator": "sum"}, "metrics": [{"id": "a", "metric": "web.hits"}],
                                       "expressions": [{"id": "e", "expr": "a * 1"}]})[1]["outputs"][0]["dps"]
    said = [s.dps("sum:web.hits", start=T0 - 10, end=T0 + 7200), by_number, function, {str(t // 1000): v for t, v in formula}]
    return said, [want] * 4


def near_names(s):
    def get(path):
        return s.message(s.ask(path))

    def said(m):
        return get("/api/query?start=%d&m=%s" % (T0, m))

    def meant(text, name, status=400):
        return status, text + ("" if s.compat else "; did you mean %s?" % name)
    zone = {"start": T0, "timezone": "berlin", "queries": [{"aggregator": "sum", "metric": "web.hits"}]}
    no_zone = (400, "The timezone specification could not be found") if s.compat else meant("Invalid timezone name: berlin", "Europe/Berlin")
    def lookup(m):
        return s.ask("/api/search/lookup?m=" + m)[1]["error"]["details"]
    return [lookup("web.hit"), get("/api/query/gexp?start=%d&exp=scal(sum:web.hits,1)" % T0), said("sum:web.hit"), said("summ:web.hits"), said("sum:1h-agv:web.hits"), said("sum:web.hits{h=regex(a)}"),
            get("/api/query/last?timeseries=web.hit"), get("/api/querry"), s.message(s.ask("/api/query", zone))], \
        [meant("No such name for 'metrics': 'web.hit'", "web.hits")[1], meant("Function scal has not been implemented", "scale"),
         meant("No such name for 'metrics': 'web.hit'", "web.hits"), meant("No such aggregation function: summ", "sum"),
         meant("No such downsampling function: agv", "avg"), meant("Could not find a tag value filter of the type: regex", "regexp"),
         meant("No such name for 'metrics': 'web.hit'", "web.hits"), meant("Endpoint not found", "api/query", 404), no_zone]


def none_of_a_tag(s):
    s.put("tagless %d 1 h=a" % T0, "tagless %d 2 other=b" % T0)
    got = s.ask("/api/query?start=%d&end=%d&m=sum:tagless&by=h" % (T0, T0 + 9))[1]
    return [(r["tags"]["h"], r["value"]) for r in got], [("a", 1)] if s.compat else [("a", 1), ("(none)", 2)]


def whole_hours(s):
    s.put(*["gone %d %d h=a" % (T0 + i * 600, i) for i in range(8)])
    s.ask("/api/query?start=%d&end=%d&m=sum:gone" % (T0 + 600, T0 + 1200), method="DELETE")
    left = sorted(s.dps("sum:gone").values())
    return left, [6, 7] if s.compat else [0, 3, 4, 5, 6, 7]


def switch_of_deletes(s):
    """Both ways the same, asked of the daemon that may not delete."""
    return s.strict_delete, (400, "Bad request" if s.compat else "Deleting is switched off: the daemon needs query_allow_delete = true")


def override_of_deletes(s):
    return s.strict_override, 200 if s.compat else 400


def end_of_a_delete(s):
    s.put("ended %d 1 h=a" % (T0 + 3 * 86400))
    status = s.ask("/api/query?start=2017/07/14&m=sum:ended", method="DELETE")[0]
    left = s.ask("/api/query?start=%d&end=%d&m=sum:ended" % (T0, T0 + 4 * 86400))[1]
    return (status, len(left)), (200, 0) if s.compat else (400, 1)


def filters_of_one_key(s):
    got = s.ask("/api/query", {"start": T0 - 1, "end": T0 + 60, "queries": [{"metric": "two", "aggregator": "none", "filters": [
        {"type": "literal_or", "tagk": "h", "filter": "a"}, {"type": "literal_or", "tagk": "h", "filter": "b"}]}]})
    return got, (200, [])


def regexp_with_colon(s):
    got = s.ask("/api/query?start=%d&end=%d&m=none:two{h=regexp((?:a|x{1,2}))}" % (T0 - 1, T0 + 60))
    return [r["tags"] for r in got[1]], [{"h": "a"}]


def forgotten_names(s):
    """A series is deleted, and its memory and names are freed, if they are; then it comes back."""

    def tsuid():
        s.put("two %d 1 h=brief" % T0)
        return s.ask("/api/query?start=%d&end=%d&show_tsuids&m=sum:two{h=brief}" % (T0 - 7200, T0 + 7200))[1][0]["tsuids"][0]

    def passes():
        return next(float(r["value"]) for r in s.ask("/api/stats")[1] if r["metric"] == "tsd.storage.forget.passes")

    before = tsuid()
    s.ask("/api/query?start=%d&end=%d&m=sum:two{h=brief}" % (T0 - 7200, T0 + 7200), method="DELETE")
    for _ in range(6):
        n = passes()
        s.d.flush("compact")
        until("a pass", lambda: passes() > n)
    listed = s.ask("/api/suggest?type=tagv&q=brief")[1]
    return (listed, tsuid() == before), (["brief"], True) if s.compat else ([], False)


def suggest_all(s):
    s.ask("/api/uid/assign", {"metric": ["ä.m"]})
    got = s.ask("/api/suggest?type=metrics&max=1000")[1]
    return "ä.m" in got, not s.compat


def last_with_some_tags(s):
    s.put("last.m %d 1 h=a dc=x" % T0)
    got = s.ask("/api/query/last?timeseries=last.m{h=a}&back_scan=1000000")[1]
    return [p["value"] for p in got], [] if s.compat else ["1"]


def last_anywhere(s):
    got = s.ask("/api/query/last?timeseries=two{h=a}")[1]
    return [p["timestamp"] for p in got], [T0 * 1000 + 30000]


def unknown_parameters(s):
    q = "/api/query?start=%d&end=%d&m=sum:two&" % (T0, T0 + 5)
    got = [s.message(s.ask(q + "downsample=1h-avg"))[0], s.message(s.ask(q + "arays"))[1], s.ask("/api/put?detials", [])[0], s.ask("/api/put?tenant=7", [])[0]]
    got[1] = got[1] if isinstance(got[1], str) else "answered"
    return got, [200, "answered", 400, 400] if s.compat else [400, "Unknown parameter: arays; did you mean arrays?", 400, 204]


def unknown_members(s):
    got = []
    for more in ({"explicittags": True}, {"refId": "A"}):
        c = http.client.HTTPConnection("127.0.0.1", s.d.port, timeout=300)
        c.request("POST", "/api/query", json.dumps({"start": T0, "end": T0 + 5, "queries": [dict({"metric": "two", "aggregator": "sum"}, **more)]}))
        r = c.getresponse()
        text = r.read().decode()
        got.append((r.status, "Unknown member: explicittags; did you mean explicitTags?" in text, r.headers.get("X-Tsd-Ignored")))
        c.close()
    return got, [(200, False, None), (200, False, None)] if s.compat else [(400, True, None), (200, False, "refId")]


def unknown_options(s):
    def said(m):
        return s.message(s.ask("/api/query?start=%d&end=%d&m=%s" % (T0, T0 + 5, m)))
    got = [said("sum:rat:two"), said("sum:h-avg:two"), said("sum:explicit_tag:rate:two")]
    text = "Unknown option between aggregator and metric: "
    return ([status for status, _ in got] if s.compat else got,
            [200, 200, 200] if s.compat else [(400, text + "rat; did you mean rate?"), (400, text + "h-avg"),
                                              (400, text + "explicit_tag; did you mean explicit_tags?")])


def calendar_in_uri(s):
    q = "/api/query?start=%d&end=%d&m=sum:1w-count:two{h=a}&useCalendar=true" % (T0 - 14 * 86400, T0 + 7 * 86400)
    days = [time.gmtime(int(t)).tm_wday for r in s.ask(q)[1] for t in r["dps"]]
    return sorted(set(days)), [3] if s.compat else [6]  # weeks since 1970 begin on Thursday, those of the calendar on Sunday


def status_without_hbase(s):
    keys = {"compat": "opentsdb"} if s.compat else {}
    with Daemon(workers=1, remote="hbase", hbase_gateways="127.0.0.1:%d" % free_port(), query_timeout_ms=4000, **keys) as d:
        c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
        c.request("GET", "/api/query?start=%d&end=%d&m=sum:elsewhere" % (T0, T0 + 5))
        r = c.getresponse()
        got = r.status, "hbase" in r.read().decode()
        c.close()
    return got, (424 if s.compat else 503, True)


def documented_paths(s):
    got = [s.ask("/api/serializers")[0], s.ask("/dropcaches")[0], s.ask("/api/dropcaches", {})[0]]
    return got, [404, 404, 405] if s.compat else [200, 200, 200]


def server_errors(s):
    got = [s.message(s.ask("/api/query?start=%d&m=sum::two" % T0))[0], s.message(s.ask("/api/query", {"start": T0}))]
    return got, [400, (400, "Missing queries")]


def iso_time_in_put(s):
    said = s.lines("put %s 2017-07-14T02:40:00Z 1 h=a\n" % ("two" if s.compat else "iso.m"))
    if s.compat:
        return said, ["put: invalid value: Value too long: 2017-07-14T02:40:00Z"]
    s.put("iso.m 2017-07-14T04:40:01.250+02:00 2 h=a", "iso.m 2017-07-14T02:40:02Z 3 h=a")
    status, _ = s.ask("/api/put", {"metric": "iso.m", "timestamp": "2017-07-14T02:40:03Z", "value": 4, "tags": {"h": "a"}})
    return (said, status, s.dps("none:iso.m", 1499999990, 1500000010, "&ms=true")), ([], 204, {"1500000000000": 1, "1500000001250": 2, "1500000002000": 3, "1500000003000": 4})


def date_in_put(s):
    said = s.lines("put two 20261122 1 h=date\n") + s.lines("put two 20261122. 1 h=date\n")
    return said, [] if s.compat else ["put: illegal argument: invalid timestamp: 20261122 (as a date write 2026-11-22T00:00:00Z, as seconds in 1970 20261122.)"]


def between_s_and_ms(s):
    said = s.lines("put two 4294967295 1 h=z\nput two 4294967296 1 h=z\nput two 9999999999 1 h=z\nput two 10000000000 1 h=z\n")
    status, _ = s.ask("/api/put", {"metric": "two", "timestamp": 4294967296, "value": 1, "tags": {"h": "z"}})
    text = "put: illegal argument: invalid timestamp: %d (seconds end at 4294967295, milliseconds have 11 to 13 digits)"
    return (said, status), ([], 204) if s.compat else ([text % 4294967296, text % 9999999999], 400)


def errors_of_put(s):
    status, answer = s.ask("/api/put", {"metric": "eo.put", "timestamp": 0, "value": 1, "tags": {"h": "a"}})
    return (status, answer["error"]["details"]), (400, 'Please see the TSD logs or append "details" to the put request' if s.compat else "1 of 1 points were refused: Invalid timestamp")


def read_only_put(s):
    with Daemon(workers=1, mode="ro", compat="opentsdb" if s.compat else "none") as d:
        said = d.talk("put ro.m %d 1 h=a\n" % T0).decode()
    return said, "unknown command: put.  Try `help'.\n" if s.compat else "put: read-only: this daemon takes no points (mode = ro)\n"


def own_figures(s):
    with Daemon(workers=1, self_metrics="auto", self_metrics_interval_s=1, compat="opentsdb" if s.compat else "none") as d:
        until("three seconds", lambda: any(f["metric"] == "tsd.process.uptime_s" and int(f["value"]) >= 3 for f in d.api("/api/stats")))
        return bool(d.api("/api/suggest?type=metrics&q=tsd.")), not s.compat


def large_requests(s):
    head = b"GET /api/version?x=" + b"y" * 6000 + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    chunks = b"POST /api/put HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    got = []
    for raw in (head, chunks):
        with socket.create_connection(("127.0.0.1", s.d.port), 60) as c:
            c.sendall(raw)
            answer = b""
            while b"\r\n\r\n" not in answer:
                more = c.recv(65536)
                if not more:
                    break
                answer += more
            got.append((answer[9:12].decode(), b"hunked request" in answer))
    return got, [("200", False), ("400", False)]


ROWS = [new_metrics, many_tags, explicit_groups, empty_put, fraction_of_seconds, fraction_in_json, letters, capitals, same_time, same_second, unknown_value, first_rate,
        percentiles, zone_in_uri, ms_in_body, filter_types, fraction_in_query, end_that_is_a_date, range_of_an_instant, forms_of_times, digits_of_dates, durations, times_as_text, kinds_of_metrics, near_names, unknown_parameters, unknown_members, unknown_options, calendar_in_uri, none_of_a_tag, whole_hours, switch_of_deletes, override_of_deletes, end_of_a_delete,
        filters_of_one_key, regexp_with_colon, forgotten_names, suggest_all, last_with_some_tags, last_anywhere, status_without_hbase, documented_paths, server_errors, large_requests, errors_of_put, read_only_put, own_figures, iso_time_in_put, date_in_put, between_s_and_ms]


def page_rows():
    with open(ROOT + "/docs/COMPATIBILITY.md", encoding="utf-8") as f:
        part = f.read().split("## Points and queries\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `(\w+)` \|", part, re.M)


def prepare(s):
    """Names that compat wants assigned, points that several rows look at, and what a daemon without leave to delete says."""
    names = "a,frac,jfrac,utf.m,dup,sec,two,ten,half,ends,web.hits,tagless,gone,ended,last.m,ex"
    s.ask("/api/uid/assign", {"metric": names.split(",")})
    s.put("two %d 0 h=a" % T0, "two %d 10 h=a" % (T0 + 10), "two %d 30 h=a" % (T0 + 30), "two %d 3000000 h=b" % (T0 + 5), "two %d 3000050 h=b" % (T0 + 15))
    s.put(*["ten %d %d h=a" % (T0 + i, (i + 1) * 10) for i in range(10)])
    s.put("half %d400 1 h=a" % T0, "half %d600 2 h=a" % T0)
    q = "/api/query?start=%d&end=%d&m=sum:two" % (T0, T0 + 5)
    body = {"start": T0, "end": T0 + 5, "delete": True, "queries": [{"metric": "two", "aggregator": "sum"}]}
    s.strict_delete = s.message(s.ask("/api/query", body))
    s.strict_override = s.ask(q + "&method_override=delete")[0]


def side(compat):
    keys = {"compat": "opentsdb"} if compat else {}
    with Daemon(workers=2, **keys) as d:
        s = Side(d, compat)
        prepare(s)
        d.keys["query_allow_delete"] = "true"
        d.restart()
        for row in ROWS:
            got, want = row(s)
            if got != want:
                failures.append(row.__name__)
                print("DIFFERENT %s %s: %.300r instead of %.300r" % (row.__name__, "compat" if compat else "own", got, want))


def main():
    rows, tests = page_rows(), [r.__name__ for r in ROWS]
    for name in sorted(set(rows) ^ set(tests)):
        failures.append(name)
        print("DIFFERENT %s: %s" % (name, "no test" if name in rows else "not in docs/COMPATIBILITY.md"))
    side(False)
    side(True)
    print("compat: %s" % ("as it should be" if not failures else "%d differences" % len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
