#!/usr/bin/env python3
"""Bodies made to hurt: packed, full of empty containers, or of digits without end. Each gets its answer, the daemon stays small and goes on."""
import gzip
import http.client
import json
import os
import re
import sys

from metakit import end, holds
from tsdtest import Daemon

MIB = 1 << 20
SANITIZED = bool(os.environ.get("TEST_SANITIZE"))       # a sanitizer keeps freed memory


def post(d, path, body, packed=True):
    """(status, message)"""
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=600)
    c.request("POST", path, gzip.compress(body, 9) if packed else body, {"Content-Type": "application/json", **({"Content-Encoding": "gzip"} if packed else {})})
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, json.loads(data)["error"]["message"] if data[:9] == b'{"error":' else data


def peak_mib(d):
    return int(re.search(r"VmHWM:\s+(\d+)", open("/proc/%d/status" % d.proc.pid).read()).group(1)) >> 10


def bombs(n):
    """(path, body of about n bytes) that took gigabytes."""
    return (("/api/put", b"[" + b"[]," * (n // 3) + b"[]]"),
            ("/api/put?details", b"[null" + b",{},{}" * (n // 6) + b"]"),
            ("/api/put?details", b"[" + b"{}," * (n // 3) + b"{}]"),
            ("/api/put?summary", b"[" + b"null," * (n // 5) + b"null]"),
            ("/api/rollup", b"[" + b"{}," * (n // 3) + b"{}]"),
            ("/api/histogram", b'[{"buckets":{' + b'"":1,' * (n // 5) + b'"":1}}]'),
            ("/api/query", b'{"queries":[' + b"{}," * (n // 3) + b"{}]}"),
            ("/api/query/exp", b'{"expressions":[' + b"{}," * (n // 3) + b"{}]}"),
            ("/api/query/last", b'{"queries":[' + b"{}," * (n // 3) + b"{}]}"),
            ("/api/uid/assign", b'{"metric":[' + b"{}," * (n // 3) + b"{}]}"),
            ("/api/annotation/bulk", b"[" + b"{}," * (n // 3) + b"{}]"))


def defaults(d):
    for path, body in bombs(63 * MIB):
        status, text = post(d, path, body)
        holds("63 MiB, packed: " + path, status == 413 and "http_max_" in str(text), (status, text))
    status, text = post(d, "/api/put", b"[" + b"0" * (7 * MIB))
    holds("7 MiB of zeros in 7 KiB", status == 413 and "http_max_inflate_ratio" in text, (status, text))
    status, text = post(d, "/api/put", b"[" + b"0" * (7 * MIB), packed=False)
    holds("7 MiB of zeros", status == 400 and text == "Unable to parse the given JSON", (status, text))
    for path, body in bombs(7 * MIB):
        status, text = post(d, path, body, packed=False)
        holds("7 MiB: " + path, status == 413 and "json_max_values" in str(text), (status, text))
    if not SANITIZED:
        holds("memory at the defaults", peak_mib(d) < 300, peak_mib(d))
    print("bodies: peak of %d MiB at the defaults" % peak_mib(d))


def wide(d):
    """Whoever raises the limits of bodies still has that of values."""
    for path, body in bombs(63 * MIB):
        status, text = post(d, path, body)
        holds("63 MiB, taken: " + path, status == 413 and "json_max_values" in str(text), (status, text))
    status, text = post(d, "/api/put", b"[" + b"0" * (63 * MIB))
    holds("63 MiB of zeros", status == 400, (status, text))
    if not SANITIZED:
        holds("memory with wide limits", peak_mib(d) < 700, peak_mib(d))
    print("bodies: peak of %d MiB with http_max_body_bytes = 64M" % peak_mib(d))


def useful(d):
    """What a client sends is taken at the defaults: 30,000 points, in place and with escapes, packed and plain."""
    points = [{"metric": "bodies.m", "timestamp": 1500000000 + i, "value": i / 4, "tags": {"host": "web%03d" % (i % 500), "site": "a"}} for i in range(30000)]
    plain = json.dumps(points).encode()
    for name, body in (("in place", plain), ("with escapes", plain.replace(b"bodies.m", b"bodies\\u002em"))):
        for packed in (False, True):
            status, text = post(d, "/api/put", body, packed)
            holds("30,000 points %s, packed %s" % (name, packed), status == 204, (status, text))
    rows = d.api("/api/query?start=1500000000&end=1500030000&m=sum:0all-count:bodies.m")
    holds("they are there", sum(sum(r["dps"].values()) for r in rows) == 30000, rows)
    status, data = post(d, "/api/put?details", b"[" + b'{"metric":"bodies.none"},' * 200000 + b"{}]", packed=False)
    answer = json.loads(data)
    holds("200,001 refusals are counted", status == 400 and answer["failed"] == 200001 and answer["success"] == 0, data[:200])
    holds("and listed up to put_details_max_bytes", 10000 < len(answer["errors"]) < 100000 and len(data) < 5 * MIB, len(data))


def main():
    with Daemon(workers=1, rollups="true") as d:
        useful(d)
        d.restart()
        defaults(d)
        d.keys.update(http_max_body_bytes="64M", http_max_inflate_ratio=1100)
        d.restart()
        wide(d)
    end("bodies")


if __name__ == "__main__":
    sys.exit(main())
