#!/usr/bin/env python3
"""A real daemon on a small file system that fills up: under the log, under a flush, without and with a reserve. Puts are refused with one clear error
each (a line; 503 with Retry-After), queries go on, and when there is room again everything goes on by itself, nothing confirmed lost.

Needs the right to mount a tmpfs; else it says so and ends with 77 (test_engine_space and test_store_faults show the same on a file
system in memory).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from tsdtest import Daemon, binary

BASE = 1700000000


def fail(text):
    sys.exit("disk_full: " + text)


class Disk:
    """A tmpfs and a file that takes its room."""

    def __init__(self, n_bytes):
        self.dir = tempfile.mkdtemp(prefix="tsd-full.")
        p = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % n_bytes, "tsd-full", self.dir], stderr=subprocess.PIPE, text=True)
        if p.returncode:
            os.rmdir(self.dir)
            print("disk_full: skipped, no tmpfs can be mounted here: %s" % p.stderr.strip())
            sys.exit(77)

    def fill(self, leave_bytes):
        with open(self.dir + "/filler", "wb") as f:
            while True:
                st = os.statvfs(self.dir)
                left = st.f_bavail * st.f_bsize - leave_bytes
                if left <= 0:
                    return
                f.write(b"x" * min(left, 65536))
                f.flush()

    def make_room(self):
        os.unlink(self.dir + "/filler")

    def close(self):
        subprocess.run(["umount", "-l", self.dir], check=False)
        shutil.rmtree(self.dir, True)


def value(k):
    x = (k ^ k >> 7) * 2654435761 % 2 ** 32
    return (x ^ x >> 15) * 40503 % 2 ** 31 / 4        # takes room: no pattern a codec knows


def body(metric, first, n):
    return json.dumps([{"metric": metric, "timestamp": BASE + k, "value": value(k), "tags": {"h": "a"}} for k in range(first, first + n)]).encode()


def post(daemon, data):
    """(status, Retry-After, message)"""
    req = urllib.request.Request("http://127.0.0.1:%d/api/put" % daemon.port, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(req, timeout=300) as f:
            return f.status, None, ""
    except urllib.error.HTTPError as e:
        return e.code, e.headers.get("Retry-After"), json.loads(e.read())["error"]["message"]


def values(daemon, metric):
    r = daemon.api("/api/query?start=%d&end=%d&arrays=true&m=none:%s%%7Bh=a%%7D" % (BASE - 1, BASE + 10**7, metric))
    return dict(map(tuple, r[0]["dps"])) if r else {}


def stat(daemon, name):
    return sum(int(s["value"]) for s in daemon.api("/api/stats") if s["metric"].endswith(name))


def refused_by_line(daemon):
    """One put line, one error line, then the connection goes on."""
    s = daemon.connect()
    s.sendall(b"put full.lines %d 1 h=a\nversion\n" % BASE)
    got = b""
    while b"tsd" not in got.replace(b"tsd_", b"").split(b"put: ", 1)[-1].split(b"\n", 1)[-1] and got.count(b"\n") < 4:
        piece = s.recv(4096)
        if not piece:
            fail("the line connection was closed: %r" % got)
        got += piece
    s.close()
    errors = [line for line in got.decode().splitlines() if line.startswith("put: ")]
    if len(errors) != 1 or "disk is full" not in errors[0]:
        fail("one line was put, answered was %r" % got)


def ready(daemon):
    """(status, text) of /readyz."""
    try:
        return 200, daemon.http("/readyz").decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def expect_full(daemon, confirmed, what):
    """Refused in plain words, queries go on."""
    until = time.monotonic() + 120
    code, retry, text = post(daemon, body("full.http", 10**6, 1))
    while code == 204 and time.monotonic() < until:      # what is buffered may still fit
        code, retry, text = post(daemon, body("full.http", 10**6, 1000))
    if code != 503 or not retry or "disk is full" not in text:
        fail("%s: /api/put on a full disk answers %d, Retry-After %r, %r" % (what, code, retry, text))
    code, text = ready(daemon)
    if code != 503 or "disk is full" not in text or "free disk space" not in text or text.count("\n") != 1:
        fail("%s: /readyz on a full disk answers %d, %r" % (what, code, text))
    if daemon.http("/healthz") != b"ok\n":
        fail("%s: /healthz on a full disk" % what)
    refused_by_line(daemon)
    have = values(daemon, "full.http")
    if any(have.get(BASE + k) != value(k) for k in range(confirmed)):
        fail("%s: queries on a full disk do not show what was confirmed" % what)


def expect_well(daemon, confirmed, what):
    """By itself, after a while."""
    until = time.monotonic() + 120
    answer = post(daemon, body("full.http", confirmed, 1))
    while answer[0] == 503 and time.monotonic() < until:
        time.sleep(0.2)
        answer = post(daemon, body("full.http", confirmed, 1))
    if answer[0] != 204:
        fail("%s: there is room again, but /api/put answers %r" % (what, answer))
    code, text = ready(daemon)  # the daemon's own figures may lack a round
    if code != 200 or not text.startswith("ready\n"):
        fail("%s: there is room again, but /readyz answers %r" % (what, ready(daemon)))
    have = values(daemon, "full.http")
    if any(have.get(BASE + k) != value(k) for k in range(confirmed + 1)):
        fail("%s: what was confirmed is not there after the disk was full" % what)
    return confirmed + 1


def load(daemon, first, n):
    """Points that are confirmed; returns how many there are then, fewer when the disk fills up."""
    for k in range(first, first + n, 1000):
        code, retry, text = post(daemon, body("full.http", k, 1000))
        if code != 204:
            return k, (code, retry, text)
    return first + n, None


def own_points(daemon, name, what):
    """One of these counters grows."""
    before, until = stat(daemon, name), time.monotonic() + 120
    while stat(daemon, name) <= before:
        if time.monotonic() > until:
            fail("there are none: " + what)
        time.sleep(0.1)


def log_full(disk, daemon):
    n, answer = load(daemon, 0, 5000)
    if answer:
        fail("an empty disk refuses: %r" % (answer,))
    disk.fill(0)
    expect_full(daemon, n, "log")
    time.sleep(1.5)         # a try in between changes nothing
    expect_full(daemon, n, "log, later")
    own_points(daemon, "tsd.self.skipped", "points of the daemon itself that are left out on a full disk")
    disk.make_room()
    n = expect_well(daemon, n, "log")
    own_points(daemon, "tsd.self.points", "points of the daemon itself after the disk was full")
    with open(daemon.log.name, encoding="utf-8") as f:
        lines = [line for line in f if "self" in line or line.count("puts are refused") > 1]
    if lines:
        fail("the log speaks of the daemon's own points: %r" % lines)
    return n


def flush_full(disk, daemon, n):
    """The log still has room, the sorted file has none."""
    disk.fill(4096)
    try:
        daemon.flush("files")
        fail("a flush on a full disk says that it was done")
    except urllib.error.HTTPError as e:
        text = e.read().decode()
        if e.code != 503 or not e.headers.get("Retry-After") or not re.search("No space|disk is full", text):
            fail("a flush on a full disk answers %d %s" % (e.code, text))
    have = values(daemon, "full.http")
    if any(have.get(BASE + k) != value(k) for k in range(n)):
        fail("queries after a failed flush do not show what was confirmed")
    disk.make_room()
    daemon.flush("files")
    if stat(daemon, "files.count") == 0:
        fail("no file after the flush")
    return expect_well(daemon, n, "flush")


def flush_from_reserve(disk, daemon, n):
    """The same with a reserve: memory is saved, puts are refused until there is room for the reserve again."""
    disk.fill(0)
    daemon.flush("files")
    if stat(daemon, "memstore.points") != 0:
        fail("a flush with a reserve left points in memory")
    expect_full(daemon, n, "reserve")
    disk.make_room()
    return expect_well(daemon, n, "reserve")


def background_full(disk, daemon, n):
    """Memory fills up while flushes fail, until puts are refused; then flushes resume without being told."""
    disk.fill(300 << 10)
    n, answer = load(daemon, n, 400000)
    if not answer:
        fail("400,000 points went into 300 KiB")
    expect_full(daemon, n, "background flush")
    before = stat(daemon, "flush.count")
    disk.make_room()
    n = expect_well(daemon, n, "background flush")
    until = time.monotonic() + 120
    while stat(daemon, "flush.count") <= before:
        if time.monotonic() > until:
            fail("flushes did not resume")
        n, _ = load(daemon, n, 20000)
    return n


def imported(*more):
    """An import into a disk that is too small: how it ends, and that the same command goes on when there is room."""
    disk = Disk(32 << 20)
    try:
        os.mkdir(disk.dir + "/data")
        with Daemon(workers=2, data=disk.dir + "/data/store", reserve_bytes=0) as daemon:
            lines = disk.dir + "/lines"
            with open(lines, "w") as f:
                f.writelines("full.import %d %r h=%d\n" % (BASE + k // 7, value(k), k % 7) for k in range(400000))
            disk.fill(1 << 20)
            argv = [binary(), "import", "--port", str(daemon.port), *more, lines]
            p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if p.returncode != 1 or "free space" not in p.stdout or "full" not in p.stdout.replace("tsd-full", "").replace("full.import", "") and "No space left on device" not in p.stdout:
                fail("import %s: %d %s" % (more, p.returncode, p.stdout))
            if "No s\n" in p.stdout or p.stdout.count("refused") > 2:
                fail("import %s: cut off, or lines are blamed: %s" % (more, p.stdout))
            disk.make_room()
            p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if p.returncode != 0 or "400,000 points in" not in p.stdout:
                fail("import %s again: %d %s" % (more, p.returncode, p.stdout))
    finally:
        disk.close()


def main():
    imported()
    imported("--bulk", "--bulk-memory", "4M")
    disk = Disk(24 << 20)
    try:
        daemon = Daemon(workers=2, data=disk.dir + "/data", memstore_bytes="1M", reserve_bytes=0,
                        self_metrics="true", self_metrics_interval_s=1)
        os.mkdir(daemon.data)
        daemon.data += "/store"
        with daemon:
            n = log_full(disk, daemon)
            n = flush_full(disk, daemon, n)
            n = background_full(disk, daemon, n)
            daemon.keys["reserve_bytes"] = "2M"
            daemon.restart()
            n = flush_from_reserve(disk, daemon, n)
            daemon.kill()
            daemon.start()
            have = values(daemon, "full.http")
            if any(have.get(BASE + k) != value(k) for k in range(n)):
                fail("after a kill and a start not all confirmed points are there")
        print("ok: %d confirmed points" % n)
    finally:
        disk.close()


if __name__ == "__main__":
    main()
