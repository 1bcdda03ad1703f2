#!/usr/bin/env python3
"""OpenTSDB's old paths: /q as ascii, json and png with every parameter, /logs, /stats, the page, the end; and the shapes of /api/stats/*."""
import glob
import json
import os
import shutil
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib

from metakit import ask, end, holds as check
from tsdtest import Daemon

T0 = 1500000000 - 1500000000 % 3600


def get(d, path):
    try:
        return 200, d.http(path)
    except urllib.error.HTTPError as e:
        return e.code, e.read()


def q(d, end="", **params):
    return get(d, "/q?start=%d&end=%d&" % (T0 + 600, T0 + 900) + urllib.parse.urlencode(params) + end)


def graphs(d):
    d.send("".join("put g.m %d %s host=%s dc=x\n" % (T0 + 300 * i, v, h) for i in range(4) for h, v in (("a", i), ("b", i + 0.5))))
    d.sync()
    s, b = q(d, "&ascii", m="sum:g.m{host=*}")
    want = ["g.m %d %d host=a dc=x" % (T0 + 300 * i, i) for i in range(4)] + ["g.m %d %d.5 host=b dc=x" % (T0 + 300 * i, i) for i in range(4)]
    def lines(t):
        return sorted(" ".join(x.split()[:3] + sorted(x.split()[3:])) for x in t)
    check("ascii, with what is around", s == 200 and lines(b.decode().splitlines()) == lines(want), b)
    s, b = q(d, "&ascii", m="sum:10m-count-nan:g.m{host=a}")
    check("ascii without NaN", s == 200 and b"NaN" not in b and b.count(b"\n") == 2, b)
    s, b = q(d, "&json", m="sum:g.m")
    a = json.loads(b)
    check("json", s == 200 and sorted(a) == ["etags", "plotted", "points", "timing"] and a["plotted"] == 2 and a["points"] == 8 and a["etags"] == [["host"]], a)
    s, b = q(d, "&json", m="sum:no.such")
    check("json error", s == 400 and "No such name for 'metrics': 'no.such'" in json.loads(b)["err"], b)
    s, b = q(d, "&ascii", m="sum:no.such")
    check("page error", s == 400 and b.startswith(b"<!DOCTYPE html>"), b)
    s, b = q(d, m="sum:g.m")
    check("no form", s == 200 and b"<html>" in b, b)
    path = "start=1h-ago&m=sum:g.m%7Bhost=*%7D&o=%22%3E%0D%0AX:y&ylog"
    with urllib.request.urlopen("http://127.0.0.1:%d/q?%s" % (d.port, path)) as r:
        to = "/#start=1h-ago&m=sum:g.m%7Bhost%3D*%7D&o=%22%3E%0D%0AX:y&ylog"
        check("no form leads to the page", r.headers["Location"] == to and not r.headers["X"], r.headers)
        check("as a refresh", b'content="0; url=%s"' % to.replace("&", "&amp;").encode() in r.read(), to)


GOOD = [{}, dict(o="axis x1y2"), dict(o=""), dict(yrange="[0:100]"), dict(yrange="[:1e3]"), dict(yrange="[-1.5:]"), dict(ylabel="a b-c_d"), dict(title="x"),
        dict(yformat="%.2f"), dict(xformat="%H:%M"), dict(ylog=""), dict(key="out right top box"), dict(nokey=""), dict(wxh="300x200"), dict(style="dots"),
        dict(smooth="bezier"), dict(fgcolor="x00ff00"), dict(bgcolor="xFFFFFF"), dict(tz="Europe/Berlin"), dict(m="sum:g.m{host=nobody}"),
        dict(o="axis x1y2", y2range="[0:5]", y2label="right", y2format="%g", y2log="")]
BAD = [dict(o="with lines"), dict(o="axis x1y2; system \"id\""), dict(yrange="[0:1];"), dict(yrange="[a:b]"), dict(yrange="0:1"), dict(yrange="[0:system('id')]"),
       dict(ylabel='"'), dict(title="`id`"), dict(yformat="x\ny"), dict(yformat="%s'"), dict(key="left; print 1"), dict(wxh="99x200"), dict(wxh="1e9x200"),
       dict(wxh="100x100x"), dict(style="lines title system"), dict(smooth="bezier sbezier"), dict(fgcolor="red"), dict(bgcolor="x12345g"), dict(tz="Mars/Olympus")]


def pictures(d):
    if not shutil.which("gnuplot"):
        print("no gnuplot: pictures are not tested")
        return
    legends(d)
    for params in GOOD:
        s, b = q(d, "&png", **dict(dict(m="sum:g.m{host=*}"), **params))
        check("picture %r" % params, s == 200 and b[:8] == b"\x89PNG\r\n\x1a\n", b[:300])
        if params.get("wxh"):
            check("its size", b[16:24] == (300).to_bytes(4, "big") + (200).to_bytes(4, "big"), b[16:24])
    _, plain = q(d, "&png", m="sum:g.m")
    tsuid = json.loads(get(d, "/api/search/lookup?m=g.m%7Bhost%3Da%7D")[1])["results"][0]["tsuid"]
    for note in ({"startTime": T0 + 700, "tsuid": tsuid, "description": "'it's `id`\n; the new disk'"}, {"startTime": T0 + 800, "description": "everywhere"}):
        d.http("/api/annotation", json.dumps(note).encode())
    pictures = [q(d, "&png" + more, m="sum:g.m")[1] for more in ("", "&global_annotations", "&no_annotations")]
    check("notes are drawn", len(set(pictures + [plain])) == 3 and pictures[2] == plain and all(p[:4] == b"\x89PNG" for p in pictures))
    for what, when, want in (("old", "start=%d&end=%d" % (T0, T0 + 900), "86400"), ("moving", "start=2h-ago", "7"), ("future", "start=2h-ago&end=2040/01/01", "0"),
                             ("no picture", None, None)):
        with urllib.request.urlopen("http://127.0.0.1:%d/q?m=sum:g.m&%s" % (d.port, when + "&png" if when else "start=%d&ascii" % T0)) as r:
            check("Cache-Control, " + what, r.headers["Cache-Control"] == (want and "max-age=" + want), r.headers["Cache-Control"])
    for params in BAD:
        s, b = q(d, "&png&json", **dict(dict(m="sum:g.m"), **params))
        check("refused %r" % params, s == 400 and "err" in json.loads(b), b[:300])
        for form in ("&json", "&ascii"):
            check("refused without a picture %r" % params, q(d, form, **dict(dict(m="sum:g.m"), **params))[0] == 400, form)
    s, b = q(d, "&png&json", m="sum:g.m", wxh="2001x2000")
    check("too many pixels", s == 400 and "graph_max_pixels" in json.loads(b)["err"], b[:300])
    check("the most pixels", q(d, "&png", m="sum:g.m", wxh="2000x2000")[1][:4] == b"\x89PNG")
    s, b = get(d, "/q?start=%d&m=sum:g.m&m=max:g.m&o=&png" % T0)
    check("one o for two m", s == 400, b[:200])


def pixels(png):
    """(width, rows of black or not) of a PNG of 8 bits a channel."""
    at, data, width, channels = 8, b"", 0, 0
    while at < len(png):
        n, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        body = png[at + 8:at + 8 + n]
        if kind == b"IHDR":
            width, channels = int.from_bytes(body[:4], "big"), {2: 3, 6: 4}[body[9]]
        elif kind == b"IDAT":
            data += body
        at += 12 + n
    data, rows, before, step = zlib.decompress(data), [], bytes(width * channels), width * channels + 1
    for i in range(0, len(data), step):
        kind, row = data[i], bytearray(data[i + 1:i + step])
        for k in range(len(row)):
            a = row[k - channels] if k >= channels else 0
            b, c = before[k], before[k - channels] if k >= channels else 0
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[k] = (row[k] + (0, a, b, (a + b) // 2, nearest)[kind]) & 255
        rows.append([row[k:k + 3] == b"\0\0\0" for k in range(0, len(row), channels)])
        before = bytes(row)
    return width, rows


def frame_right(png):
    """Share of the width at which the right border of the plotted area stands: the last column that is black for half of the height."""
    width, rows = pixels(png)
    return max(x for x in range(width) if sum(row[x] for row in rows) > len(rows) / 2) / width


def legends(d):
    """A legend that is not placed by the client stands beside the curves; inside of them only on request."""
    at = {}
    for what, params in (("beside", {}), ("in a box", dict(key="out right top box")), ("at the bottom", dict(key="out bottom")), ("inside", dict(key="top left")),
                         ("none", dict(nokey=""))):
        at[what] = frame_right(q(d, "&png", m="sum:g.m{host=*}", wxh="640x300", **params)[1])
    check("a legend outside leaves the curves room", all(at[what] < at["none"] - 0.05 for what in ("beside", "in a box", "at the bottom")), at)
    check("a legend inside takes no width", abs(at["inside"] - at["none"]) < 0.03, at)


def others(d):
    s, b = get(d, "/logs")
    first = b.decode().splitlines()[-1].split("\t")
    check("logs", s == 200 and len(first) == 5 and first[0].isdigit() and first[1] in ("INFO", "WARN"), first)
    s, b = get(d, "/logs?json")
    check("logs as JSON", s == 200 and all("\t" in x for x in json.loads(b)), b)
    check("log level", get(d, "/logs?level=blah")[0] == 400 and get(d, "/logs?level=WARN")[0] == 403)
    s, b = get(d, "/stats")
    check("stats", s == 200 and all(x.startswith("tsd.") and " host=" in x for x in b.decode().splitlines()), b)
    s, b = get(d, "/stats?json")
    check("stats as JSON", s == 200 and any(x.startswith("tsd.rpc.received ") for x in json.loads(b)), b)
    names = b.decode()
    for name in ("connectionmgr.connections", "rpc.errors", "rpc.forbidden", "http.latency_95pct", "http.graph.requests", "http.query.success",
                 "uid.ids-used", "uid.random-collisions", "datapoints.added"):
        check("self metric " + name, "tsd.%s " % name in names)
    check("aggregators", "zimsum" in json.loads(get(d, "/aggregators")[1]))
    check("suggest", json.loads(get(d, "/suggest?type=metrics&q=g")[1]) == ["g.m"])
    check("version", get(d, "/version")[1].startswith(b"tsd ") and "version" in json.loads(get(d, "/version?json")[1]))
    s, b = get(d, "/")
    check("page", s == 200 and b.startswith(b"<!DOCTYPE html>") and b.rstrip().endswith(b"</html>"), b)
    check("favicon", d.http("/favicon.ico") == b"")
    check("files", get(d, "/s/gwt.js")[0] == 404 and get(d, "/s/../etc")[0] == 400)
    t = json.loads(get(d, "/api/stats/threads")[1])
    check("threads", len(t) > 3 and all(sorted(x) == ["interrupted", "name", "priority", "stack", "state", "threadID"] for x in t)
          and any(x["name"].startswith("tsd") for x in t), t)
    j = json.loads(get(d, "/api/stats/jvm")[1])
    check("jvm", sorted(j) == ["gc", "memory", "os", "pools", "runtime"] and j["runtime"]["uptime"] >= 0
          and j["memory"]["heapMemoryUsage"]["used"] > 1 << 20, j)
    check("region clients", json.loads(get(d, "/api/stats/region_clients")[1]) == [])
    s = json.loads(get(d, "/api/serializers")[1])
    check("serializers", sorted(s[0]) == ["class", "formatters", "parsers", "request_content_type", "response_content_type", "serializer"], s)


def the_end():
    with Daemon(workers=1) as d:
        check("line diediedie is off", d.talk("diediedie\n") == b"unknown command: diediedie.  Try `help'.\n")
        check("/diediedie is off", ask(d, "POST", "/diediedie")[0] == 404)
    for end_it in (lambda d: d.talk("diediedie\n") == b"Cleaning up and exiting now.\n", lambda d: b"exiting now" in d.http("/diediedie", method="POST")):
        d = Daemon(workers=2, allow_diediedie="true", http_log_level="true").start()
        s, b = ask(d, "POST", "/logs?level=WARN")
        check("level set", (s, b) == (200, "Set the log level to WARN on 1 loggers.\n"), b)
        check("asked to end", end_it(d))
        check("ended in order", d.proc.wait(120) == 0)


FAKE = """#!/usr/bin/env python3
import os, sys, time
sys.stdin.read()
open(sys.argv[0] + ".began.%d" % os.getpid(), "w").close()
while not os.path.exists(sys.argv[0] + ".go"):
    time.sleep(0.01)
os.write(1, b"picture")
"""


def many_pictures():
    """A gnuplot that waits: two draw, four wait, others are refused; one that never ends is ended."""
    with tempfile.TemporaryDirectory() as folder:
        name, path = folder + "/gnuplot", os.environ["PATH"]
        with open(name, "w", encoding="ascii") as f:
            f.write(FAKE)
        os.chmod(name, 0o755)
        os.environ["PATH"] = folder + ":" + path
        with Daemon(workers=2, graph_timeout_s=120) as d:
            d.send("put g.m %d 1 host=a\n" % T0)
            d.sync()
            answers = []
            threads = [threading.Thread(target=lambda: answers.append(q(d, "&png&json", m="sum:g.m"))) for _ in range(10)]
            for t in threads:
                t.start()
            until = time.monotonic() + 60
            while len(answers) < 4 and time.monotonic() < until:
                time.sleep(0.05)
            busy = [a for a in answers if a[0] == 503 and "graph_max_running" in json.loads(a[1])["err"]]
            check("four of ten are refused", len(answers) == 4 and len(busy) == 4, answers)
            while len(glob.glob(name + ".began.*")) < 2 and time.monotonic() < until:
                time.sleep(0.05)
            check("two draw", len(glob.glob(name + ".began.*")) == 2)
            check("queries go on", json.loads(get(d, "/api/query?start=%d&m=sum:g.m" % T0)[1])[0]["dps"] == {str(T0): 1})
            open(name + ".go", "w").close()
            for t in threads:
                t.join()
            check("the others are drawn", sorted(a[1] for a in answers if a[0] == 200) == [b"picture"] * 6, answers)
            os.remove(name + ".go")
            d.keys["graph_timeout_s"] = 1
            d.restart()
            s, b = q(d, "&png&json", m="sum:g.m")
            check("one that never ends", s == 408 and "graph_timeout_s" in json.loads(b)["err"], b)
            rows = {r["tags"]["reason"]: r["value"] for r in d.api("/api/stats") if r["metric"] == "tsd.http.graph.refused"}
            check("counted", rows == {"graph_max_running": "0", "graph_timeout_s": "1"}, rows)
        os.environ["PATH"] = path


def main():
    many_pictures()
    with Daemon(workers=2) as d:
        graphs(d)
        pictures(d)
        others(d)
    the_end()
    end("legacy")


if __name__ == "__main__":
    main()
