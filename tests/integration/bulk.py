#!/usr/bin/env python3
"""`tsd import --bulk`: what is exported afterwards equals what a live import of the same files gives; queries meanwhile see none of it or all; a killed
import, and a killed daemon, lose and repeat nothing; what the daemon refuses; rollups, histograms, CSV; a stopped folder."""
import fcntl
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.error

from tsdtest import Daemon, binary, until

TMP = tempfile.TemporaryDirectory(prefix="tsd-bulk.")
T0 = 1793620800
PART = 5 if os.environ.get("TEST_SANITIZE") else 1     # a sanitizer makes everything slow: a fifth of the points is at work as long


def check(ok, what):
    if not ok:
        sys.exit("bulk: " + what)


def path(name):
    return os.path.join(TMP.name, name)


def write(name, lines):
    with open(path(name), "w") as f:
        f.writelines(lines)
    return path(name)


def inputs(seed, n):
    """Unsorted lines with duplicates, in three files; some are refused."""
    rnd = random.Random(seed)
    files = []
    for k in range(3):
        lines = []
        for i in range(n):
            t = T0 - rnd.randrange(40) * 86400 + rnd.randrange(4000)
            stamp = "%d" % t if rnd.random() < .9 else "%d%03d" % (t, rnd.randrange(1000))
            value = ["%d" % rnd.randrange(10**6), "%.2f" % rnd.random(), "-0.0", "1e300"][min(rnd.randrange(12), 3)]
            lines.append("put m.bulk%d %s %s host=h%d cpu=%d\n" % (rnd.randrange(3), stamp, value, rnd.randrange(30), rnd.randrange(4)))
        lines[n // 2] = "put m.bulk0 nonsense 1 host=h1 cpu=1\n"
        files.append(write("in%d.%d" % (seed, k), lines))
    files.append(write("kinds.%d" % seed,
                       ["rollup 1h-sum m.roll %d 5 host=a\n" % T0, "histogram m.hist %d u=1:o=2:0,10=3 host=a\n" % T0, "put m.bulk0 %d 77 host=new cpu=0\n" % T0]))
    return files


def plain(text):
    """Lines of an export in order. 0.50 is 0.5: how many zeros a decimal has depends on the other points of its row."""
    lines = []
    for line in text.splitlines():
        words = line.split(" ")
        lines.append(" ".join(repr(float(w)) if i == 2 and "." in w and not line.startswith(("rollup ", "histogram ")) else w for i, w in enumerate(words)))
    return sorted(lines)


def export(d):
    return plain(d.run("export", "--port", str(d.port)).stdout)


def ask(d, method, url, body=None):
    """Status and text of an answer, whatever it is."""
    try:
        return 200, d.http(url, body=body, method=method).decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def bulk(d, files, *more, check_code=None):
    p = subprocess.run([binary(), "import", "--bulk", "--bulk-memory", "4M", "--port", str(d.port), *files, *more], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
    if check_code is not None:
        check(p.returncode == check_code, "%d: %s" % (p.returncode, p.stdout))
    return p


def staging(d):
    return glob.glob(os.path.join(d.data, "bulk", "*"))


def stat(d, name):
    return next(float(r["value"]) for r in (d.api("/api/stats")) if r["metric"] == name)


def same_as_live():
    files = inputs(1, 30000)
    before = write("before", ["put m.bulk0 %d 1 host=h1 cpu=1\n" % (T0 - i) for i in range(2000)])
    with Daemon(rollups="true") as live, Daemon(rollups="true") as d:
        for one in (live, d):
            one.run("import", before, "--port", str(one.port))
        code = subprocess.run([binary(), "import", "--port", str(live.port), *files], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        p = bulk(d, files, check_code=code.returncode)
        check("%s:15001:" % files[0] in p.stdout, "the line of a refused point: " + p.stdout)
        check("3 lines were refused" in p.stdout and "3 lines were refused" in code.stdout, p.stdout + code.stdout)
        want = export(live)
        got = export(d)
        other = next((a, b) for a, b in zip(got + [""], want + [""]) if a != b or not a)
        check(got == want, "%d lines are not %d lines of the live import: %s" % (len(got), len(want), other))
        check(not staging(d), "the staging folder is left: %s" % staging(d))
        check(stat(d, "tsd.storage.bulk.points") > 60000, "points are not counted")
        d.restart()
        check(export(d) == want, "after a restart")
        d.flush("compact")
        check(export(d) == want, "after merging")
        d.stop()
        check(subprocess.run([binary(), "fsck", "--data", d.data], stdout=subprocess.PIPE, check=False).returncode == 0, "fsck")


def formats_and_folder():
    csv = write("stations.csv", ["t,temp,where\n"] + ["%d,%d.5,s%d\n" % (T0 + i % 5000 * 60, i % 40, i % 7) for i in range(20000)])
    args = ["--skip", "1", "--csv", "time={0},metric=air.temp,value={1},station={2}"]
    with Daemon() as d:
        bulk(d, [csv], *args, check_code=0)
        want = export(d)
        check(len(want) > 4000, "csv: %d" % len(want))
        p = bulk(d, [write("names", ["put m.names %d 1 host=%s%d\n" % (T0, "x" * 400, i) for i in range(20000)])], check_code=0)
        check(" warn " not in p.stdout, "8 MB of names: " + p.stdout)
        p = bulk(d, [csv], *args, "--dry-run", check_code=0)
        check("this was a dry run" in p.stdout and not staging(d), p.stdout)
    folder = path("folder")
    p = subprocess.run([binary(), "import", "--bulk", "--data", folder, csv, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check(p.returncode == 0, p.stdout)
    out = subprocess.run([binary(), "export", "--data", folder], stdout=subprocess.PIPE, text=True, check=True).stdout
    check(plain(out) == want, "a folder")


def none_or_all():
    files = inputs(2, 20000 // PART)
    counts, ended = set(), threading.Event()
    with Daemon() as d:

        def look():
            while not ended.is_set():
                out = (d.api("/api/query?start=%d&end=%d&m=sum:0all-count:m.bulk1" % (T0 - 60 * 86400, T0 + 10 * 86400)))
                counts.add(sum(v for s in out for v in s["dps"].values()))

        d.run("import", write("one", ["put m.bulk1 %d 1 host=zero cpu=0\n" % (T0 - 50 * 86400)]), "--port", str(d.port))
        thread = threading.Thread(target=look)
        thread.start()
        bulk(d, files, check_code=1)
        ended.set()
        thread.join()
        final = (d.api("/api/query?start=%d&end=%d&m=sum:0all-count:m.bulk1" % (T0 - 60 * 86400, T0 + 10 * 86400)))
        final = sum(v for s in final for v in s["dps"].values())
        check(counts <= {1, final} and final > 1000, "queries saw %s, at the end there are %s" % (counts, final))


def killed():
    """SIGKILL to the import, then to the daemon, at several moments; repeating the command completes it."""
    files = inputs(3, 60000 // PART)
    with Daemon() as d:
        bulk(d, files, check_code=1)
        want = export(d)
    for k, delay in enumerate((0.05, 0.2, 0.5, 0.9, 1.5)):
        with Daemon() as d:
            p = subprocess.Popen([binary(), "import", "--bulk", "--bulk-memory", "2M", "--port", str(d.port), *files], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
            time.sleep(delay)
            if k % 2:
                d.kill()
                p.communicate(timeout=600)
                d.start()
            else:
                p.send_signal(signal.SIGKILL)
                p.communicate(timeout=600)
            again = bulk(d, files)
            check(again.returncode in (0, 1), again.stdout)
            got = export(d)
            check(got == want, "killed after %s s: %d lines, %d expected; %s" % (delay, len(got), len(want), again.stdout))
            check(not staging(d), "staging folders are left")


def continues():
    """An import whose daemon is away when it hands over continues without reading its files again."""
    files = inputs(4, 60000 // PART)
    with Daemon() as d:
        p = subprocess.Popen([binary(), "import", "--bulk", "--bulk-memory", "2M", "--port", str(d.port), *files], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        until("a run is written", lambda: any("run " in open(s).read() for s in glob.glob(os.path.join(d.data, "bulk", "*", "STATE"))) or p.poll() is not None)
        p.send_signal(signal.SIGKILL)
        p.communicate()
        if staging(d):
            again = bulk(d, files)
            check("continuing an import" in again.stdout, again.stdout)


def refused():
    with Daemon() as d:
        status, body = ask(d, "POST", "/api/admin/bulk?id=zz")
        check(status == 400, "%d %s" % (status, body))
        status, body = ask(d, "POST", "/api/admin/bulk/take?id=00000000000000aa&files=1&points=1")
        check(status == 400 and "no bulk load" in body, "%d %s" % (status, body))
        status, body = ask(d, "POST", "/api/admin/bulk?id=00000000000000aa")
        place = json.loads(body)
        check(status == 200 and os.path.isdir(place["dir"]), "%d %s" % (status, body))
        os.mkdir(place["dir"] + "/ready")
        with open(place["dir"] + "/ready/00000001.t", "wb") as f:
            f.write(b"x" * 4000)
        status, body = ask(d, "POST", "/api/admin/bulk/take?id=00000000000000aa&files=1&points=1")
        check(status == 400 and "00000001.t" in body, "%d %s" % (status, body))
        os.unlink(place["dir"] + "/ready/00000001.t")
        os.symlink("/proc/self/exe", place["dir"] + "/ready/00000001.t")
        status, body = ask(d, "POST", "/api/admin/bulk/take?id=00000000000000aa&files=1&points=1")
        check(status == 400 and "not a regular file" in body, "a link: %d %s" % (status, body))
        os.unlink(place["dir"] + "/ready/00000001.t")
        os.mkfifo(place["dir"] + "/ready/00000001.t")
        os.mkfifo(place["dir"] + "/DONE")
        for url in ("?id=00000000000000aa", "/take?id=00000000000000aa&files=1&points=1"):
            status, body = ask(d, "POST", "/api/admin/bulk" + url)
            check(status == 400 and "DONE" in body and "not a regular file" in body, "a pipe: %d %s" % (status, body))
        os.unlink(place["dir"] + "/DONE")
        with open(place["dir"] + "/DONE", "w") as f:
            f.write("all of it\n")
        for url in ("?id=00000000000000aa", "/take?id=00000000000000aa&files=1&points=1"):
            status, body = ask(d, "POST", "/api/admin/bulk" + url)
            check(status == 409 and "DONE is damaged" in body, "no DONE of the store: %d %s" % (status, body))
        os.unlink(place["dir"] + "/DONE")
        status, body = ask(d, "POST", "/api/admin/bulk/take?id=00000000000000aa&files=1&points=1")
        check(status == 400 and "not a regular file" in body, "a pipe: %d %s" % (status, body))
        status, body = ask(d, "POST", "/api/admin/bulk/names?id=00000000000000aa", b"m.x host=a\nm.y\nm z=%zz bad=\nm.x host=a\n")
        lines = body.splitlines()
        check(status == 200 and len(lines) == 4 and lines[0] == lines[3] and lines[1][0] == lines[2][0] == "!", "%d %s" % (status, lines))
        status, body = ask(d, "DELETE", "/api/admin/bulk?id=00000000000000aa")
        check(status == 200 and not os.path.exists(place["dir"]), "%d %s" % (status, body))
    with Daemon(max_series=5) as d:
        f = write("many", ["put m.many %d 1 host=h%d\n" % (T0 + i, i % 10) for i in range(1000)])
        p = bulk(d, [f], check_code=1)
        check(": their series is not stored" in p.stdout and "other reasons" not in p.stdout, p.stdout)
        check("too many series" in p.stdout and "500 lines were refused" in p.stdout and len(export(d)) == 500, p.stdout)


def expired():
    """What has expired and leaves no summaries is refused and counted, as live puts of it are; where hours are kept longer, it becomes hours."""
    now = int(time.time())
    with Daemon() as d:
        d.run("retention", "add", "old.*", "points=30d", "--port", str(d.port))
        d.run("retention", "add", "aged.*", "points=30d", "hours=2y", "--port", str(d.port))
        f = write("expired", ["put %s.x %d 1 host=a\n" % (m, now - days * 86400 + i) for m in ("old", "aged", "free") for days in (1000, 40, 1) for i in range(10)])
        p = bulk(d, [f], check_code=1)
        check("old.x host=a: points before " in p.stdout and "aged.x host=a: points before " in p.stdout and "have expired: they are refused" in p.stdout, p.stdout)
        check("30 lines were refused" in p.stdout and "free.x" not in p.stdout, p.stdout)
        left = [line.split()[0] for line in export(d)]
        check([left.count(m) for m in ("old.x", "aged.x", "free.x")] == [10, 10, 30], str(left))
        rows = d.api("/api/query?start=2y-ago&m=sum:1d-count:aged.x")
        check(sum(sum(r["dps"].values()) for r in rows) == 20, str(rows))
        again = write("again", ["put old.x %d 1 host=a\n" % (now - 40 * 86400)])
        check(bulk(d, [again], check_code=1).returncode == 1 and len(export(d)) == 50, "nothing that has expired is stored")


def manage(d, *words, code=0):
    p = subprocess.run([binary(), "import", "--bulk", *words, "--port", str(d.port)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       timeout=60, check=False)
    check(p.returncode == code, "%s: %d %s" % (words, p.returncode, p.stdout))
    return p.stdout


def unread(pipe):
    """Bytes that wait in a pipe for its reader."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def given_up():
    """The operator lists a bulk load and gives it up: its import, which is at work, ends with an error, and nothing of it is stored."""
    with Daemon() as d:
        check("there is no bulk load" in manage(d, "--list"), "an empty list")
        p = subprocess.Popen([binary(), "import", "--bulk", "--port", str(d.port), "--format", "put", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        p.stdin.write("put m.gone %d 1 host=a\n" % T0)
        p.stdin.flush()
        until("the folder is there, and the import reads its input", lambda: staging(d) and unread(p.stdin) == 0)
        load = os.path.basename(staging(d)[0])
        out = manage(d, "--list")
        check(load in out and "not handed over" in out, out)
        check("is given up" in manage(d, "--cancel", load), "giving up")
        check(not staging(d), "the folder is left")
        check("there is no bulk load" in manage(d, "--cancel", load, code=1), "giving up twice")
        check("hexadecimal digits" in manage(d, "--cancel", "x", code=2), "giving up what is no id")
        check("without files" in manage(d, "--list", "--cancel", load, code=2), "both")
        out, _ = p.communicate("put m.gone %d 2 host=a\n" % (T0 + 1), timeout=60)
        check(p.returncode == 1 and "given up" in out, "%d %s" % (p.returncode, out))
        check(not staging(d) and not export(d), "something of it is there: %s %s" % (staging(d), export(d)))
        f = write("again", ["put m.gone %d 3 host=a\n" % T0])
        bulk(d, [f], check_code=0)
        check(len(export(d)) == 1, "an import after it")
        d.stop()
        p = subprocess.run([binary(), "import", "--bulk", "--list", "--data", d.data], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        check(p.returncode == 0 and "there is no bulk load" in p.stdout, "a stopped folder: " + p.stdout)


def interrupted(p):
    """Ctrl-C; returns what the import says."""
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate("put m.late %d 1 host=a\n" % T0 if p.stdin else None, timeout=60)
    check(p.returncode == 1 and "points/s" not in out, "%d %s" % (p.returncode, out))
    return out


def says_what_is_left():
    """Ctrl-C: what is kept, and whether the same command continues. A file that has changed since: where the sorted files of before are."""
    lines = ["put m.left %d %d host=h%d\n" % (T0 + i, i, i % 10) for i in range(150000 // PART)]
    with Daemon() as d:
        p = subprocess.Popen([binary(), "import", "--bulk", "--bulk-memory", "1M", "--port", str(d.port), "--format", "put", "-"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        p.stdin.writelines(lines * 10)
        p.stdin.flush()
        until("a run is written", lambda: any("run " in open(s).read() for s in glob.glob(d.data + "/bulk/*/STATE")))
        out = interrupted(p)
        check("nothing is stored yet; nothing is kept: the same command begins again" in out and not staging(d), "a pipe: " + out)
        big = write("left.put", lines)
        with open(big, "a") as f:
            f.writelines("put m.left %d %d host=z\n" % (T0 + i, i) for i in range(3000000 // PART))
        p = subprocess.Popen([binary(), "import", "--bulk", "--bulk-memory", "1M", "--port", str(d.port), big], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        until("a run is written", lambda: any("run " in open(s).read() for s in glob.glob(d.data + "/bulk/*/STATE")))
        out = interrupted(p)
        kept = re.search(r"nothing is stored yet; ([0-9,]+) points are sorted in (\S+): the same command continues", out)
        check(kept and staging(d) == [kept[2]], "a file: " + out)
        with open(kept[2] + "/STATE", "r+b") as f:
            state = f.read()
            f.seek(0)
            f.write(b"x")
            f.flush()
            p = bulk(d, [big], check_code=3)
            f.seek(0)
            f.write(state)
        hint = "tsd import --bulk --cancel %s removes the damaged folder" % os.path.basename(kept[2])
        check("STATE is damaged" in p.stdout and hint in p.stdout, "a damaged folder: " + p.stdout)
        os.truncate(big, sum(map(len, lines)))
        p = bulk(d, [big], check_code=0)
        check("has left" in p.stdout and kept[2] in p.stdout and "tsd import --bulk --cancel " + os.path.basename(kept[2]) in p.stdout and "continuing" not in
              p.stdout, "a file that has changed: " + p.stdout)
        check(len(export(d)) == 150000 // PART, "all of the changed file")


CASES = (same_as_live, formats_and_folder, none_or_all, killed, continues, says_what_is_left, given_up, refused, expired)
for case in CASES:
    if len(sys.argv) < 2 or case.__name__ in sys.argv[1:]:
        case()
