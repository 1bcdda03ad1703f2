#!/usr/bin/env python3
"""Limits of queries and /api/stats/query on a real daemon: each limit says its key, memory stays bounded, slow and vanished clients, cancel."""
import http.client
import json
import os
import socket
import sys
import time

from metakit import end, holds as check
from tsdtest import Daemon

T0 = 1500000000
N_SERIES, N_POINTS = 200, 3000
ALL = "start=%d&end=%d" % (T0, T0 + N_POINTS)


def ask(d, path, method="GET"):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request(method, path)
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, json.loads(data) if data else None


def fill(d):
    for s in range(0, N_SERIES, 20):
        d.send("".join("put big.m %d %d.25 s=s%03d\n" % (T0 + i, i, k) for k in range(s, s + 20) for i in range(N_POINTS)))
    check("points sent", d.sync() == N_SERIES * N_POINTS)
    d.flush("files")


def until(what, test, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = test()
        if got:
            return got
        time.sleep(0.02)
    check(what, False, "nothing for %d s" % seconds)
    return None


def memory_kib(d, name):
    with open("/proc/%d/status" % d.proc.pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith(name))


def reader(d, path):
    """A client that asks and reads nothing."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", d.port))
    s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
    return s


def explained(d, query):
    """The answer of explain; with query_timeout_ms = 1 it may itself run out of time on a busy machine and is asked again."""
    for _ in range(200):
        status, answer = ask(d, "/api/query/explain?%s&%s" % (ALL, query))
        if status == 200:
            return answer
    sys.exit("limits: explain never answered: %s" % answer)


def listed(d, query):
    """The newest ended query in the list. With query_timeout_ms = 1 one may run out of time in the line, before it is listed: another one is asked."""
    for _ in range(200):
        completed = ask(d, "/api/stats/query")[1]["completed"]
        if completed:
            return completed[0]
        ask(d, "/api/query?%s&%s" % (ALL, query))
    sys.exit("limits: no ended query is listed")


def counted(d):
    """Queries that a limit ended, by its key."""
    rows = ask(d, "/api/stats")[1]
    n = {r["tags"]["key"]: int(r["value"]) for r in rows if r["metric"] == "tsd.query.refused"}
    n["query_max_bytes"] = sum(int(r["value"]) for r in rows if r["metric"] == "tsd.memory.refused" and r["tags"]["account"] == "query")
    return n


def refusals(d):
    """key, value, query, status, words of the message"""
    rows = (("query_max_series", 50, "m=sum:big.m", 413, "selects 200 series"),
            ("query_max_points", 10000, "m=sum:big.m", 413, "our limit of 10000 data points"),
            ("query_max_bytes", "1M", "m=none:big.m", 413, "Not enough memory for"),
            ("query_max_read_bytes", "1k", "m=sum:big.m", 413, "from storage"),
            ("query_timeout_ms", 1, "m=dev:big.m", 408, "ran out of time after"))
    for key, value, query, status, words in rows:
        d.keys = {key: value}
        d.restart()
        got, answer = ask(d, "/api/query?%s&%s" % (ALL, query))
        text = answer["error"]["message"] if got != 200 else answer
        check(key, got == status and words in text and key in text, (got, text))
        check(key + " is counted", counted(d)[key] >= 1 and sum(counted(d).values()) == counted(d)[key], counted(d))
        told = [x for x in explained(d, query)["limits"] if x["key"] == key][0]
        check(key + " is explained", told["limit"] > 0 and told["refused"] == (told["needs"] is not None), told)
        ended = listed(d, query)
        check(key + " is listed", ended["httpResponse"]["code"] == status and key in ended["exception"], ended)
        if key in ("query_max_series", "query_max_read_bytes", "query_max_points"):
            check(key + " holds for totals", ask(d, "/api/query?%s&%s&by=day" % (ALL, query))[0] == 413)
        if status == 413:
            got, answer = ask(d, "/api/query?start=%d&end=%d&m=sum:big.m%%7Bs=s007%%7D" % (T0, T0 + 60))
            check(key + " lets small ones through", got == 200 and len(answer[0]["dps"]) == 61 or key == "query_max_read_bytes", answer)


def streaming(d):
    """The answer of 600,000 points is some 12 MB of text; six clients that read nothing, then one that reads."""
    d.keys = {"query_max_bytes": "64M", "query_reply_buffer_bytes": "256k", "query_spool_bytes": 0, "query_max_running": 32}
    d.restart()
    ask(d, "/api/query?%s&m=sum:big.m" % ALL)
    before = memory_kib(d, "VmRSS")
    slow = [reader(d, "/api/query?%s&m=none:big.m" % ALL) for _ in range(6)]

    def six():
        now = ask(d, "/api/stats/query")[1]["running"]
        return now if len(now) == 6 and all(q["pointsRead"] == N_SERIES * N_POINTS for q in now) else None
    running = until("six queries run", six)
    status, rows = ask(d, "/api/query?%s&m=none:big.m" % ALL)
    check("a reader gets all beside them", status == 200 and sum(len(r["dps"]) for r in rows) == N_SERIES * N_POINTS)
    grown = memory_kib(d, "VmHWM") - before
    if not os.environ.get("TEST_SANITIZE"):      # sanitizers keep freed memory and shadows of it
        check("memory stays within seven budgets", grown < 7 * 64 * 1024, grown)
    print("limits: seven answers of 12 MB at once took %d MiB" % (grown >> 10))
    return slow, running


def cancel(d, slow, running):
    ids = sorted(q["id"] for q in running or [])
    check("running: what, who, since", running and all(q["query"]["queries"][0]["metric"] == "big.m" and q["remote"].startswith("127.0.0.1:")
                                                       and q["elapsed"] >= 0 and q["pointsRead"] > 0 for q in running), running)
    check("cancel", ask(d, "/api/stats/query?id=%d" % ids[0], "DELETE")[0] == 204)
    until("the cancelled one ends", lambda: ids[0] not in [q["id"] for q in ask(d, "/api/stats/query")[1]["running"]])
    ended = ask(d, "/api/stats/query?id=%d" % ids[0])[1]["completed"]
    check("it says why", len(ended) == 1 and "cancelled through /api/stats/query" in ended[0]["exception"], ended)
    check("cancel of one that ended", ask(d, "/api/stats/query?id=%d" % ids[0], "DELETE")[0] == 404)
    check("cancel of nothing", ask(d, "/api/stats/query", "DELETE")[0] == 400)
    for s in slow:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        s.close()
    until("queries of vanished clients end", lambda: not ask(d, "/api/stats/query")[1]["running"])
    gone = [q for q in ask(d, "/api/stats/query")[1]["completed"] if q["id"] in ids[1:]]
    check("as cancelled", len(gone) == 5 and all("client went away" in q["exception"] and not q["sentToClient"] for q in gone), gone)


def stalled(d):
    d.keys = {"write_stall_timeout_s": 1, "query_reply_buffer_bytes": "256k", "query_spool_bytes": 0}
    d.restart()
    s = reader(d, "/api/query?%s&m=none:big.m" % ALL)
    until("it runs", lambda: ask(d, "/api/stats/query")[1]["running"])
    until("a stalled client is dropped and its query ends", lambda: not ask(d, "/api/stats/query")[1]["running"])
    s.close()


def stats(d):
    status, rows = ask(d, "/api/query?%s&m=sum:big.m&m=max:1m-avg-nan:big.m%%7Bs=*%%7D&show_stats&show_summary" % ALL)
    summary = rows[-1]["statsSummary"]
    check("summary", summary["emittedDPs"] == sum(len(r["dps"]) for r in rows[:-1]) and summary["dpsPreFilter"] >= N_SERIES * N_POINTS, summary)
    check("of each sub query", [summary["queryIdx_%02d" % i]["tsdGroups"] for i in (0, 1)] == [1, N_SERIES], summary)
    check("beside each series", all(r["stats"]["emittedDPs"] > 0 and r["stats"]["queryScanTime"] >= 0 for r in rows[:-1]))
    for i in range(300):
        ask(d, "/api/query?start=%d&end=%d&m=sum:big.m%%7Bs=s001%%7D" % (T0, T0 + 1 + i))
    ended = ask(d, "/api/stats/query")[1]["completed"]
    check("256 are kept, the newest first", len(ended) == 256 and ended[0]["id"] > ended[-1]["id"] and ended[0]["query"]["endTime"] == (T0 + 300) * 1000,
          (len(ended), ended[0]))
    last = ended[0]
    check("timings", last["exception"] == "null" and last["httpResponse"] == {"code": 200, "reasonPhrase": "OK"} and last["sentToClient"]
          and last["stats"]["totalTime"] > 0 and last["queryCompletedTimestamp"] >= last["queryStartTimestamp"], last)


COSTLY = "/api/query?start=%d&end=%d&m=none:rx.m" % (T0, T0 + 10) + "%7Bs=regexp((a%7Ca%7Cb)%7B0,14%7D$)%7D"


def regular_expressions(d):
    """A pattern of some 20,000 steps for each of 20,000 values: minutes, if nobody ends it."""
    d.keys = {"query_timeout_ms": 1, "query_max_regex_steps": 0}
    d.restart()
    d.send("".join("put rx.m %d 1 s=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%05d\n" % (T0, i) for i in range(20000)))
    check("values sent", d.sync() == 20000)
    status, answer = ask(d, COSTLY)
    check("selection has a time-out", status == 408 and "query_timeout_ms" in answer["error"]["message"], (status, answer))
    d.keys = {"query_max_regex_steps": 3000000, "query_timeout_ms": 0}
    d.restart()
    status, answer = ask(d, COSTLY)
    check("and steps", status == 413 and "query_max_regex_steps" in answer["error"]["message"], (status, answer))
    d.keys = {"query_max_regex_steps": 0, "query_timeout_ms": 0}
    d.restart()
    s = reader(d, COSTLY)
    until("it runs", lambda: ask(d, "/api/stats/query")[1]["running"])
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    s.close()
    until("it ends with its client", lambda: not ask(d, "/api/stats/query")[1]["running"])
    ended = ask(d, "/api/stats/query")[1]["completed"][0]
    check("as cancelled", "client went away" in ended["exception"], ended)
    several = [reader(d, COSTLY) for _ in range(4)]
    until("four run", lambda: len(ask(d, "/api/stats/query")[1]["running"]) == 4)
    d.stop()                                     # SIGTERM; exits the test unless it ends with 0
    for s in several:
        s.close()
    d.start()


def refused(d, key):
    """Queries that this limit has ended."""
    return [int(r["value"]) for r in d.api("/api/stats") if r["metric"] == "tsd.query.refused" and r["tags"].get("key") == key][0]


def many_parts(d):
    """Filters and sub queries without end, small when packed."""
    d.keys = {"query_max_filters": 3, "query_max_subqueries": 4}
    d.restart()
    one = {"aggregator": "sum", "metric": "rx.m", "filters": [{"tagk": "s", "type": "wildcard", "filter": "a*", "groupBy": False}] * 3}
    body = {"start": T0, "end": T0 + 10, "queries": [dict(one, aggregator=a) for a in ("sum", "max", "min", "avg")]}
    check("as many as the limits say", post(d, body)[0] == 200)
    body["queries"].append(dict(one, aggregator="dev"))
    status, answer = post(d, body)
    check("one sub query more", status == 413 and "query_max_subqueries" in answer["error"]["message"], (status, answer))
    check("it is counted", refused(d, "query_max_subqueries") == 1, refused(d, "query_max_subqueries"))
    body["queries"] = [dict(one, filters=one["filters"] + one["filters"][:1])]
    status, answer = post(d, body)
    check("one filter more", status == 413 and "query_max_filters" in answer["error"]["message"], (status, answer))
    check("it is counted too", refused(d, "query_max_filters") == 1 and refused(d, "query_max_subqueries") == 1, refused(d, "query_max_filters"))
    body["queries"] = [dict(one, filters=one["filters"] * 20000)]
    before = memory_kib(d, "VmHWM")
    check("60,000 filters", post(d, body)[0] == 413)
    if not os.environ.get("TEST_SANITIZE"):
        check("take no memory to speak of", memory_kib(d, "VmHWM") - before < 96 * 1024, memory_kib(d, "VmHWM") - before)


def post(d, body):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request("POST", "/api/query", json.dumps(body), {"Content-Type": "application/json"})
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, json.loads(data) if data else None


def main():
    with Daemon(workers=2) as d:
        fill(d)
        stats(d)
        refusals(d)
        slow, running = streaming(d)
        cancel(d, slow, running)
        stalled(d)
        regular_expressions(d)
        many_parts(d)
    end("limits")


if __name__ == "__main__":
    main()
