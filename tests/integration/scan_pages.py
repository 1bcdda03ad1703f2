#!/usr/bin/env python3
"""Pages of a scan in CSV are tables of rows: the token of the next page is a header where the reply is in one piece, a trailer where it is in chunks and the
client takes trailers, and the last line otherwise. All pages together are the scan without pages, over HTTP and by the command."""
import gzip
import http.client
import re
import socket
import sys

from metakit import check, end, holds
from tsdtest import Daemon, talk

HOUR, HOURS = 1483228800, 6
TOKEN = "X-Tsd-After"


def fetch(d, limit, after=None, version="1.1", method="GET", extra="", start=HOUR):
    """(status line, headers, body, trailers) as they are on the wire; chunks are joined."""
    path = "/api/scan?start=%d&end=%d&m=none:p.m&format=csv%s%s" % (start, HOUR + HOURS * 3600 - 1, "&limit=%d" % limit if limit else "", "&after=" + after if after else "")
    raw = talk(socket.create_connection(("127.0.0.1", d.port), 60), ("%s %s HTTP/%s\r\nHost: localhost\r\nConnection: close\r\n%s\r\n" % (method, path, version, extra)).encode(), False)
    head, _, rest = raw.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    if headers.get("Transfer-Encoding") != "chunked":
        return lines[0], headers, rest, {}
    body = b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        n = int(size, 16)
        if n == 0:
            break
        body, rest = body + rest[:n], rest[n + 2:]
    tail = rest.decode().split("\r\n")
    check("end of trailers", tail[-2:], ["", ""])
    return lines[0], headers, body, dict(line.split(": ", 1) for line in tail[:-2])


def pages(d, limit, extra="TE: trailers\r\n", later=HOUR, **how):
    """All pages: (rows, how the tokens came). later: the beginning that all but the first one ask for."""
    rows, seen, after = [], [], None
    while True:
        status, headers, body, trailers = fetch(d, limit, after, extra=extra, start=later if after else HOUR, **how)
        check("status", status, "HTTP/1.1 200 OK")
        if headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        lines = body.decode().splitlines()
        check("head of the table", lines[0], "metric,time,value,tags")
        line = [l for l in lines if l.startswith("#")]
        rows += [l for l in lines[1:] if not l.startswith("#")]
        places = [(w, t) for w, t in (("header", headers.get(TOKEN)), ("trailer", trailers.get(TOKEN)), ("line", line[0][8:] if line else None)) if t]
        holds("announced", ("Trailer" in headers) == (headers.get("Transfer-Encoding") == "chunked" and "TE:" in extra), headers)
        holds("one token", len(places) <= 1, places)
        if not places:
            return rows, seen
        seen.append(places[0][0])
        after = places[0][1]


def main():
    with Daemon(workers=2) as d:
        for h in range(HOURS):      # hours of 3,999 points are longer than a piece of a reply, others are short
            n = 3999 if h % 2 else 3
            d.send("".join("put p.m %d %d host=some-host-with-a-long-name-%d\n" % ((HOUR + h * 3600) * 1000 + i * 900, i, h % 2) for i in range(n)))
        d.sync()
        want = fetch(d, 0)[2].decode().splitlines()[1:]
        check("points", len(want), 3 * 4002)
        holds("no token without pages", TOKEN not in fetch(d, 0)[1] and not fetch(d, 0)[3])
        rows, seen = pages(d, 1)
        check("pages of a row", rows, want)
        check("tokens", sorted(seen), ["header"] * 3 + ["trailer"] * 2)     # the last page has none
        rows, seen = pages(d, 4)
        check("pages of four rows", (rows, seen), (want, ["trailer"]))
        rows, seen = pages(d, 1, extra="")
        check("pages without trailers", (rows, sorted(seen)), (want, ["header"] * 3 + ["line"] * 2))
        rows, seen = pages(d, 1, extra="TE: trailers\r\nAccept-Encoding: gzip\r\n")
        check("compressed", (rows, len(seen), "line" in seen), (want, 5, False))
        rows, seen = pages(d, 1, extra="Accept-Encoding: gzip\r\n")
        check("compressed without trailers", (rows, seen), (want, ["line"] * 5))
        rows, seen = pages(d, 1, version="1.0", extra="")
        check("HTTP/1.0", (rows, seen), (want, ["line"] * 5))
        rows, seen = pages(d, 1, later=HOUR + 5 * 3600)      # as that of start=6h-ago, which has moved when the next page is asked for
        check("all pages have the range of the first one", (rows, len(seen)), (want, 5))
        status, headers, body, _ = fetch(d, 1, method="HEAD")
        holds("HEAD", body == b"" and headers.get(TOKEN) == fetch(d, 1)[1].get(TOKEN) is not None, headers)
        for limit in (1, 4):        # the command
            rows, token, n = [], None, 0
            while n < 9:
                p = d.run("scan", "%d" % HOUR, "%d" % (HOUR + HOURS * 3600 - 1), "none", "p.m", "--format", "csv", "--limit", str(limit), *(["--after", token] if token else []), "--port", str(d.port))
                rows += p.stdout.splitlines()[1:]
                n += 1
                m = re.fullmatch(r"tsd: there are more rows; --after (\S+) goes on behind these\n", p.stderr)
                holds("standard error", bool(m) or p.stderr == "", p.stderr)
                if not m:
                    break
                token = m.group(1)
            check("pages of tsd scan", (rows, n), (want, 6 if limit == 1 else 2))
        c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=60)     # a client that knows nothing of trailers goes on with the same connection
        for _ in range(3):
            c.request("GET", "/api/scan?start=%d&end=%d&m=none:p.m&format=csv&limit=4" % (HOUR, HOUR + HOURS * 3600 - 1))
            r = c.getresponse()
            check("kept alive", (r.status, r.read().decode().splitlines()[1:] == fetch(d, 4)[2].decode().splitlines()[1:]), (200, True))
        c.close()
    end("scan_pages")


if __name__ == "__main__":
    sys.exit(main())
