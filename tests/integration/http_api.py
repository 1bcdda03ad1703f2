#!/usr/bin/env python3
"""HTTP of a real daemon: clients' requests as they are, long replies to slow and vanishing readers, gzip, keep-alive, stop in the middle."""
import gzip
import http.client
import json
import socket
import time

from metakit import end, holds as check
from tsdtest import Daemon, together

T0 = 1500000000


def ask(d, method, path, body=None, headers=None):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request(method, path, body, headers or {})
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, data, r


def point(metric, t, v, **tags):
    return {"metric": metric, "timestamp": t, "value": v, "tags": tags}


def writers(d):
    """Requests as the clients in docs/COMPATIBILITY.md, "Clients that were run", send them."""
    one, many = point("w.m", T0, 1, h="a"), [point("w.m", T0 + i, i + 0.5, h="a") for i in range(1, 51)]
    packed = gzip.compress(json.dumps(many).encode())
    s, b, _ = ask(d, "POST", "/api/put?details=true", packed, {"Content-Encoding": "gzip"})
    check("opentsdb-py", s == 200 and json.loads(b) == {"success": 50, "failed": 0, "errors": []}, b)
    s, b, _ = ask(d, "GET", "/api/version", headers={"Content-Encoding": "gzip"})
    check("opentsdb-py's version", s == 200 and "version" in json.loads(b), b)
    s, b, _ = ask(d, "POST", "/api/put/", json.dumps(many))
    check("pyopentsdb", s == 204 and b == b"", b)
    s, b, _ = ask(d, "POST", "/api/put?details", json.dumps(one), {"Content-Type": "application/json; charset=UTF-8"})
    check("opentsdb-goclient", s == 200 and json.loads(b)["success"] == 1, b)
    s, b, _ = ask(d, "POST", "/api/put", "[\n\n]")
    check("netdata's first round", s == 204, b)
    s, b, _ = ask(d, "POST", "/api/put", json.dumps([point("prom", T0, 1, **{"t%d" % i: "v" for i in range(12)})]))
    check("a dozen tags", s == 204, b)
    for more in ("", ',"more":{}', ',"more":{"x":"\\u0041"}'):
        s, b, _ = ask(d, "POST", "/api/put?details", '{"metric":"numbers","timestamp":%d.0,"value":1,"tags":{"a":-0,"b":1.50,"c":1e3}%s}' % (T0, more))
        check("numbers as tag values" + more, s == 200 and json.loads(b)["success"] == 1, b)
    s, b, _ = ask(d, "GET", "/api/search/lookup?m=numbers")
    check("they are the text that was sent", [r["tags"] for r in json.loads(b)["results"]] == [{"a": "-0", "b": "1.50", "c": "1e3"}], b)
    s, b, _ = ask(d, "POST", "/api/put", json.dumps([one, point("", T0, 1, h="a")]))
    check("one bad point", s == 400 and json.loads(b)["error"]["message"] == "One or more data points had errors", b)
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    for i in range(100):
        c.request("POST", "/api/put", json.dumps([point("keep", T0 + i, i, h="a")]))
        r = c.getresponse()
        r.read()
        check("keep-alive", r.status == 204)
    c.close()
    rows = d.api("/api/query?start=%d&end=%d&m=sum:keep" % (T0, T0 + 200))
    check("all of them are there", len(rows[0]["dps"]) == 100 and rows[0]["dps"][str(T0 + 99)] == 99, rows)


def readers(d):
    q = "start=%d&end=%d" % (T0, T0 + 200)
    s, b, _ = ask(d, "GET", "/api/query?%s&m=sum:1m-avg-none:w.m{h=a}" % q)
    rows = json.loads(b)
    check("raw braces", s == 200 and rows[0]["metric"] == "w.m" and rows[0]["tags"] == {"h": "a"} and rows[0]["aggregateTags"] == [], b)
    s, b, _ = ask(d, "GET", "/api/query?%s&m=sum:keep{h=*}&arrays=true&ms=true&show_tsuids=true" % q)
    rows = json.loads(b)
    check("arrays", rows[0]["dps"][1] == [(T0 + 1) * 1000, 1] and len(rows[0]["tsuids"]) == 1, rows)
    body = {"start": T0, "end": T0 + 200, "queries": [{"metric": "keep", "aggregator": "sum", "downsample": "1m-sum", "filters": [
        {"type": "wildcard", "tagk": "h", "filter": "*", "groupBy": True}]}], "msResolution": True, "globalAnnotations": True, "showQuery": True}
    s, b, _ = ask(d, "POST", "/api/query?arrays=true", json.dumps(body))
    rows = json.loads(b)
    check("Grafana", s == 200 and isinstance(rows[0]["dps"], list) and rows[0]["query"]["index"] == 0, b)
    s, b, _ = ask(d, "POST", "/api/query", '{"start":%d,"end":null,"queries":[{"metric":"keep","aggregator":"sum","rate":null,"downsample":null}]}' % T0)
    check("nulls of the crate", s == 200 and len(json.loads(b)[0]["dps"]) == 100, b)
    s, b, _ = ask(d, "GET", "/api/query?%s&m=sum:nothing.like.it" % q)
    check("unknown metric", s == 400 and json.loads(b)["error"]["message"] == "No such name for 'metrics': 'nothing.like.it'", b)
    s, b, _ = ask(d, "GET", "/api/query?m=sum:keep")
    check("no start", s == 400 and "start" in json.loads(b)["error"]["message"], b)
    s, b, _ = ask(d, "POST", "/api/query", "")
    check("no body", s == 400 and json.loads(b)["error"]["message"] == "Missing message content", b)
    s, b, _ = ask(d, "GET", "/api/query/last?timeseries=keep%7Bh=a%7D&resolve=true")
    check("last", json.loads(b)[0] == {"metric": "keep", "tags": {"h": "a"}, "timestamp": (T0 + 99) * 1000, "value": "99", "tsuid": json.loads(b)[0]["tsuid"]}, b)
    s, b, _ = ask(d, "POST", "/api/query/last", '{"queries":[{"metric":"keep","tags":{"h":"a"}}],"resolveNames":true,"backScan":0}')
    check("last by POST", s == 200 and json.loads(b)[0]["value"] == "99", b)
    s, b, _ = ask(d, "GET", "/api/suggest?type=metrics&q=k&max=1000000000")
    check("suggest", json.loads(b) == ["keep"], b)
    s, b, _ = ask(d, "POST", "/api/suggest/", '{"type":"tagk","q":"h","max":5}')
    check("suggest by POST", json.loads(b) == ["h"], b)
    s, b, _ = ask(d, "GET", "/api/query?%s&m=sum:keep&by=day&format=csv" % q)
    check("totals", b == b"date,keep\n2017-07-14,4950\n", b)
    for path in ("/api/aggregators/", "/api/config/", "/api/config/filters/", "/api/stats/", "/api/version/", "/api/dropcaches/"):
        s, b, _ = ask(d, "GET", path)
        check(path, s == 200 and json.loads(b), b)


def fill(d):
    """A metric whose answer is some ten megabytes."""
    lines = []
    for s in range(200):
        lines += ["put big.m %d %d.25 s=s%03d\n" % (T0 + i, i, s) for i in range(3000)]
    d.send("".join(lines))
    return "/api/query?start=%d&end=%d&m=none:big.m" % (T0, T0 + 3000), d.sync()


def long_replies(d):
    path, n = fill(d)
    check("points sent", n == 600000, n)
    s, plain, r = ask(d, "GET", path)
    check("long reply in chunks", s == 200 and r.getheader("Transfer-Encoding") == "chunked" and len(plain) > 8 << 20, len(plain))
    rows = json.loads(plain)
    check("every point", len(rows) == 200 and all(len(x["dps"]) == 3000 for x in rows) and rows[0]["dps"][str(T0 + 7)] == 7.25)
    s, packed, r = ask(d, "GET", path, headers={"Accept-Encoding": "gzip"})
    check("long reply packed", r.getheader("Content-Encoding") == "gzip" and gzip.decompress(packed) == plain, len(packed))
    s, wrapped, _ = ask(d, "GET", path + "&jsonp=cb")
    check("jsonp", wrapped == b"cb(" + plain + b")", wrapped[:100])
    old = d.talk(b"GET %s HTTP/1.0\r\n\r\n" % path.encode(), shut=False)
    check("HTTP/1.0", old.split(b"\r\n\r\n", 1)[1] == plain and b"chunked" not in old[:300], old[:300])
    # slow readers hold neither each other nor quick ones
    slow = []
    for _ in range(12):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", d.port))
        s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
        slow.append(s)
    for _ in range(20):  # each within the 60 s of ask, while the slow ones hold their replies
        check("a quick query beside slow readers", ask(d, "GET", "/api/query?start=%d&end=%d&m=sum:keep" % (T0, T0 + 200))[0] == 200)
    for i, s in enumerate(slow):
        if i % 3 == 0:
            s.close()           # gone
        elif i % 3 == 1:
            data = b""
            while not data.endswith(b"0\r\n\r\n"):
                got = s.recv(1 << 20)
                if not got:
                    break
                data += got
            check("a slow reader gets all", data.endswith(b"]\r\n0\r\n\r\n") and len(data) > len(plain), len(data))
            s.sendall(b"GET /api/version HTTP/1.1\r\nHost: localhost\r\n\r\n")
            check("and goes on", s.recv(15) == b"HTTP/1.1 200 OK")
            s.close()
    return [s for i, s in enumerate(slow) if i % 3 == 2], path


def stall(d, path):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", d.port))
    s.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
    until = time.monotonic() + 30
    while time.monotonic() < until:
        n = [int(x["value"]) for x in d.api("/api/stats") if x["metric"] == "tsd.connectionmgr.exceptions"]
        if n[0]:
            break
    check("a reader that takes nothing is dropped", n[0] == 1, n)
    s.close()
    idle = socket.create_connection(("127.0.0.1", d.port))
    idle.settimeout(300)
    idle.sendall(b"GET /api/version HTTP/1.1\r\nHost: localhost\r\n\r\n\r\n")     # an empty line behind it begins no request
    while not idle.recv(4000).endswith(b"}"):
        pass
    h = socket.create_connection(("127.0.0.1", d.port))
    h.sendall(b"GET /api/version HTTP/1.1\r\n")     # and no more
    h.settimeout(300)
    answer = h.recv(1000)
    check("a request that does not end", answer.startswith(b"HTTP/1.1 408"), answer)
    idle.sendall(b"GET /api/version HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = idle.recv(4000)
    check("an idle connection after an empty line", answer.startswith(b"HTTP/1.1 200"), answer)
    idle.close()
    h.close()


def admin(d):
    for level in ("disk", "files", "compact"):
        s, b, _ = ask(d, "POST", "/api/admin/flush?level=" + level)
        check("flush " + level, s == 200, b)
    s, b, _ = ask(d, "POST", "/api/admin/flush?wait=false")
    check("flush behind the scenes", s == 202, b)
    s, b, _ = ask(d, "POST", "/api/admin/flush?level=x")
    check("flush to nowhere", s == 400, b)
    s, b, _ = ask(d, "POST", "/api/admin/reship?from=0&to=1")
    check("shipping again to nowhere", s == 400 and "remote = none" in str(b), b)
    s, b, _ = ask(d, "GET", "/api/admin/reship?from=0&to=1")
    check("only on request", s == 405, b)
    for method, path, allow in (("GET", "/api/admin/reship", "POST"), ("POST", "/healthz", "GET, HEAD"),
                                ("PUT", "/api/put", "POST"), ("BREW", "/api/query", "GET, HEAD, POST, DELETE"), ("GET", "/api/uid/assign", "POST"),
                                ("PATCH", "/api/annotation", "GET, HEAD, POST, PUT, DELETE")):
        s, b, r = ask(d, method, path)
        check("allowed instead of %s %s" % (method, path), (s, r.getheader("Allow")) == (405, allow), (s, r.getheader("Allow"), b))
    s, b, r = ask(d, "GET", "/api/version")
    check("no Allow elsewhere", s == 200 and r.getheader("Allow") is None, r.getheaders())


def parallel(d):
    """Writers and readers at once over both protocols."""
    def write(k):
        c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
        for i in range(50):
            c.request("POST", "/api/put", json.dumps([point("par.m", T0 + i * 20 + j, 1, w="w%d" % k) for j in range(20)]))
            r = c.getresponse()
            r.read()
            check("parallel put", r.status == 204, r.status)
        c.close()

    def read():
        for _ in range(30):
            s, b, _ = ask(d, "GET", "/api/query?start=%d&end=%d&m=sum:1m-count:par.m&m=sum:keep" % (T0, T0 + 2000))
            check("parallel query", s == 200 or b"No such name" in b, b)
    together(*((write, k) for k in range(8)), *((read,) for _ in range(4)))
    rows = d.api("/api/query?start=%d&end=%d&m=sum:0all-count:par.m" % (T0, T0 + 5000))
    check("all points of parallel writers", sum(rows[0]["dps"].values()) == 8000, rows)


def half_closed(d):
    """Requests behind one that is answered later, and then the end of what the client sends: each is answered, however long the answers are."""
    body = json.dumps(point("half.m", T0, 1, a="b")).encode()
    put = b"POST /api/put?sync&summary HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    one = len(d.http("/api/stats"))
    n = 3 * (1 << 20) // one + 1
    request = b"GET /api/stats HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for _ in range(3):
        got = d.talk(put + n * request)
        check("all of %d answers" % n, got.count(b"HTTP/1.1 200 OK\r\n") == n + 1, (len(got), got.count(b"HTTP/1.1 200 OK\r\n")))


def main():
    with Daemon(workers=2, stop_timeout_s=2, http_jsonp="true") as d:
        writers(d)
        readers(d)
        admin(d)
        parallel(d)
        half_closed(d)
        held, path = long_replies(d)
        d.stop()                  # with readers in the middle of replies, who would hold it up for ever: stop waits 120 s
        for s in held:
            s.close()
        d.keys = {"write_stall_timeout_s": 1, "http_read_timeout_s": 1, "query_reply_buffer_bytes": "256k", "stop_timeout_s": 1}
        d.start()
        stall(d, path)
    end("http")


if __name__ == "__main__":
    main()
