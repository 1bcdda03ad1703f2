#!/usr/bin/env python3
"""Which queries the worker answers by itself, on a real daemon: small ones, with the same answers as a job's; nothing that is large, changes something or
must be read from the disk."""
import gzip
import os
import urllib.request

from metakit import ask, end, holds as check
from tsdtest import Daemon, until

T0 = 1500000000
N_SERIES, N_POINTS = 200, 3600


def at_once(d):
    rows = (line.split() for line in d.http("/stats").decode().splitlines())
    return next(int(r[2]) for r in rows if r[0] == "tsd.jobs.at_once")


def query(d, m, seconds=60, more=""):
    """(answer, was it answered at once)"""
    before = at_once(d)
    answer = ask(d, "GET", "/api/query?start=%d&end=%d&m=%s%s" % (T0, T0 + seconds, m, more))
    return answer, at_once(d) == before + 1


def quick(d, what, asks):
    """asks() is answered at once, though on a busy machine not each time: a worker gives up after a millisecond. Its answer."""
    def test():
        before = at_once(d)
        answer = asks()
        return [answer] if at_once(d) == before + 1 else None
    return until(what, test)[0]


def small(d, where):
    first = quick(d, where + ": small", lambda: query(d, "sum:m%7Bs=s007%7D")[0])
    check(where + ": its points", first[0] == 200 and len(first[1][0]["dps"]) == 61, first)
    check(where + ": a job says the same", query(d, "sum:m%7Bs=wildcard(s0*07)%7D") == (first, False))
    quick(d, where + ": minutes", lambda: query(d, "avg:1m-max:m%7Bs=s007|s008|s009%7D", 599)[0])
    quick(d, where + ": totals", lambda: query(d, "sum:m%7Bs=s007%7D", more="&by=hour")[0])
    check(where + ": too many series", query(d, "sum:m")[1] is False)
    check(where + ": too many points", query(d, "sum:m%7Bs=s001|s002|s003|s004|s005|s006%7D", 3599)[1] is False)
    check(where + ": an unknown name", quick(d, "an unknown name", lambda: query(d, "sum:nothing")[0])[0] == 400)
    status, rows = quick(d, where + ": the last point", lambda: ask(d, "GET", "/api/query/last?timeseries=m%7Bs=s009%7D"))
    check(where + ": of the last second", status == 200 and rows[0]["timestamp"] == (T0 + N_POINTS - 1) * 1000, rows)
    body = {"start": T0, "end": T0 + 9, "queries": [{"metric": "m", "aggregator": "sum", "tags": {"s": "s001"}}]}
    check(where + ": by POST", len(quick(d, "by POST", lambda: ask(d, "POST", "/api/query", body))[1][0]["dps"]) == 10)


def packed(d):
    path = "http://127.0.0.1:%d/api/query?start=%d&end=%d&m=sum:m%%7Bs=s007%%7D" % (d.port, T0, T0 + 300)
    with urllib.request.urlopen(urllib.request.Request(path, headers={"Accept-Encoding": "gzip"}), timeout=300) as f:
        check("compressed", f.headers["Content-Encoding"] == "gzip" and gzip.decompress(f.read()) == urllib.request.urlopen(path, timeout=300).read())


def listed(d):
    headers = {"Authorization": "Basic c2VjcmV0", "Cookie": "secret=1", "X-Own": "7"}
    d.http("/api/query?start=%d&end=%d&m=sum:m%%7Bs=s001%%7D" % (T0, T0 + 1), headers=headers)
    ended = ask(d, "GET", "/api/stats/query")[1]["completed"][0]
    kept = ended["requestHeaders"]
    check("what was answered at once is listed", ended["httpResponse"]["code"] == 200 and ended["query"]["queries"][0]["metric"] == "m")
    check("without secrets", "X-Own" in kept and "c2VjcmV0" not in str(kept) and "secret" not in str(kept), kept)
    check("and nothing is left running", ask(d, "GET", "/api/stats/query")[1]["running"] == [])


def cold(d):
    """Files that are not in the page cache are read by a job. A file system that keeps them anyway shows nothing."""
    d.flush("files")
    small(d, "in files")
    for folder, _, names in os.walk(d.data):
        for name in names:
            fd = os.open(os.path.join(folder, name), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
    answer, now = query(d, "sum:m%7Bs=s017%7D")
    check("read from the disk", answer[0] == 200 and len(answer[1][0]["dps"]) == 61)
    print("at_once: files out of the page cache are read by a %s" % ("worker: the file system keeps them" if now else "job"))


def deletes(d):
    before = at_once(d)
    check("a delete is a job", ask(d, "DELETE", "/api/query?start=%d&end=%d&m=sum:m%%7Bs=s199%%7D" % (T0, T0 + 1))[0] == 200 and at_once(d) == before)
    check("its points are gone", len(query(d, "sum:m%7Bs=s199%7D", 9)[0][1][0]["dps"]) == 8)


def main():
    with Daemon(workers=2, query_allow_delete="true") as d:
        for s in range(0, N_SERIES, 20):
            d.send("".join("put m %d %d s=s%03d\n" % (T0 + i, i % 97, k) for k in range(s, s + 20) for i in range(N_POINTS)))
        check("points sent", d.sync() == N_SERIES * N_POINTS)
        small(d, "in memory")
        packed(d)
        listed(d)
        cold(d)
        deletes(d)
        refused = [r for r in ask(d, "GET", "/api/stats")[1] if r["metric"] == "tsd.query.refused"]
        check("what a worker gives up is no refusal", refused and all(int(r["value"]) == 0 for r in refused), refused)
    end("at_once")


if __name__ == "__main__":
    main()
