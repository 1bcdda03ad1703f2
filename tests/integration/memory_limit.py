#!/usr/bin/env python3
"""The limit of the process on a real daemon with memory_limit = 512M: accounts are shown, the sum of uploads is bounded, calm clients go on."""
import gzip
import http.client
import os
import socket

from metakit import ask, end, holds as check
from tsdtest import Daemon, until

MIB = 1 << 20
BODY = 7 * MIB
T0 = 1500000000


def accounts(d):
    return {a["account"]: a for a in ask(d, "GET", "/api/admin/memory")[1]["accounts"]}


def resident(d):
    with open("/proc/%d/status" % d.proc.pid) as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


def shown(d):
    table = accounts(d)
    check("all accounts", set(table) == {"process", "memstores", "snapshots", "names", "series_cache", "files", "index_cache", "merges", "decoders", "counter_ids", "queries", "bodies", "json",
                                         "clients", "replies", "streams", "connections"}, list(table))
    parts = table["process"]["limitBytes"] + table["clients"]["limitBytes"]
    check("15 % stay free", parts == 512 * MIB // 100 * 85 and not table["clients"]["within"] and table["replies"]["within"] == "clients", table)
    check("keys", table["queries"]["key"] == "query_total_bytes" and table["bodies"]["key"] == "http_body_total_bytes", table)
    until("memstores are measured", lambda: accounts(d)["memstores"]["usedBytes"] > 0)
    lines = [line.split() for line in d.http("/stats").decode().splitlines()]
    rows = {(x[0], x[3]) for x in lines}
    check("in /api/stats", all(("tsd.memory." + what, "account=" + name) in rows for name in table
                               for what in ("used_bytes", "peak_bytes", "limit_bytes", "refused")), sorted(rows)[:5])


def upload(d):
    """A request whose last byte does not come. Its socket, or None when the daemon refused it."""
    s = socket.create_connection(("127.0.0.1", d.port), 120)
    s.sendall(b"POST /api/put HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % BODY)
    try:
        s.sendall(b" " * (BODY - 1))
    except OSError:
        pass                                    # cut off: the answer may be there all the same
    return s


def uploads(d):
    """40 times 7 MiB are more than the 65 MiB of all bodies."""
    limit = accounts(d)["bodies"]["limitBytes"]
    open_ones, answers = [], []
    for _ in range(40):
        s = upload(d)
        s.settimeout(0.01)
        try:
            answers.append(s.recv(1000))
            s.close()
        except TimeoutError:
            open_ones.append(s)
        except ConnectionResetError:
            s.close()
    got = accounts(d)["bodies"]
    check("the sum of bodies stays below its limit", MIB < got["usedBytes"] and got["peakBytes"] <= limit, got)
    check("some are refused with the key", got["refusedPerAddress"] > 0 and answers and
          all(b" 503 " in a and b"Retry-After" in a and b"http_body_total_bytes" in a for a in answers if a), answers[:1])
    check("calm clients put", ask(d, "POST", "/api/put", {"metric": "calm", "timestamp": T0, "value": 1, "tags": {"a": "b"}})[0] == 204)
    check("calm clients ask", ask(d, "GET", "/api/query?start=%d&m=sum:calm" % T0)[0] == 200)
    for s in open_ones:
        s.close()
    until("all is given back", lambda: accounts(d)["bodies"]["usedBytes"] < 64 << 10)  # the question itself takes some
    if not os.environ.get("TEST_SANITIZE"):
        check("the process stays below its limit", resident(d) < 512 * MIB, resident(d) >> 20)
    print("memory_limit: 40 uploads of 7 MiB, %d refused, resident at most %d MiB" % (got["refusedPerAddress"], resident(d) >> 20))


def send_body(d, body, headers):
    """(status, text) of a put; the daemon may answer before it has read all of it."""
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    try:
        c.request("POST", "/api/put", body, {"Content-Type": "application/json", **headers}, encode_chunked="Transfer-Encoding" in headers)
    except OSError:
        pass
    try:
        r = c.getresponse()
        return r.status, r.read()
    finally:
        c.close()


def json_trees(d):
    """A tree takes many times the text."""
    d.keys["http_body_total_bytes"] = "6M"
    d.restart()
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=300)
    c.request("POST", "/api/query", b'{"start":1,"queries":[' + b",".join([b"{}"] * 100000) + b"]}", {"Content-Type": "application/json"})
    r = c.getresponse()
    text = r.read()
    check("a tree above the account is refused", r.status == 413 and b"http_body_total_bytes" in text, (r.status, text))
    for name, body, headers in (("sized", b" " * BODY, {}), ("in chunks", iter([b" " * (BODY // 8)] * 8), {"Transfer-Encoding": "chunked"}),
                                ("packed", gzip.compress(os.urandom(BODY // 9).hex().encode() * 4), {"Content-Encoding": "gzip"})):
        status, text = send_body(d, body, headers)
        check("a body that never fits, " + name, status == 413 and b"http_body_total_bytes" in text, (status, text))
    status, text = send_body(d, b" " * (3 * MIB) + b"{}", {})  # fits, though the next power of two would not
    check("a body that fits alone", status == 400, (status, text))
    until("and freed", lambda: accounts(d)["json"]["usedBytes"] == 0)
    check("small ones are taken", ask(d, "POST", "/api/query", {"start": T0, "queries": [{"metric": "calm", "aggregator": "sum"}]})[0] == 200)


def main():
    with Daemon(workers=2, memory_limit="512M", http_max_body_bytes="8M") as d:
        d.send("put calm %d 1 a=b\n" % (T0 + 1))
        d.sync()
        shown(d)
        uploads(d)
        json_trees(d)
    end("memory_limit")


if __name__ == "__main__":
    main()
