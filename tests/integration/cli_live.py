#!/usr/bin/env python3
"""tsd metrics, tsd status and tsd top: over a real daemon, over one that answers /api/tsd/* and /api/stats with known figures, in a pipe and on a terminal."""
import fcntl
import http.server
import json
import os
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
import threading
import time

from metakit import check, end, holds
from tsdtest import Daemon, binary, free_port

NAMES = ("web.hits", "web.bytes", "sys.cpu.user")
STATUS = {
    "version": "9.8.7", "started": 1793620800000, "now": 1793620800000 + 93784000, "compat": False,
    "health": {"ok": False, "problems": [{"what": "the disk is full", "action": "free 2 GB"}]},
    "rates": {"points_in": 1234.5, "points_out": 12, "requests": 3},
    "totals": {"points": 12345678, "series": 1000, "metrics": 3, "files": 34, "bytes_on_disk": 3 << 30, "bytes_per_point": 1.5},
    "refused": [{"reason": "max_series", "count": 17, "example": "put x 1 1 a=b", "when": 1793620800000}],
    "memory": [{"account": "queries", "used": 1 << 20, "limit": 1 << 30}, {"account": "merges", "used": 1 << 30, "limit": 0}],
    "shards": [{"shard": 0, "series": 500, "memstore_bytes": 2048, "log_bytes": 4096}],
    "windows": [{"start": 1793577600000, "end": 1793664000000, "files": 2, "bytes": 1 << 20, "points": 99}],
    "times": {"flush": {"count": 5, "p50": 1, "p99": 20, "max": 21}},
    "queries": {"running": [{"id": 7, "text": "sum:web.hits", "client": "127.0.0.1:9", "ms": 1500}],
                "slow": [{"text": "ä" * 100, "client": "127.0.0.1:8", "ms": 250}, {"text": "a quick one", "client": "127.0.0.1:8", "ms": 9},
                         {"text": json.dumps({"start": "2026/11/01", "end": None, "queries": [
                             {"aggregator": "sum", "metric": "web.hits", "downsample": "1h-avg", "rate": True, "filters": [{"tagk": "domain", "filter": "*"}, {"tagk": "host", "filter": "a"}]},
                             {"aggregator": "max", "metric": None, "downsample": None, "rate": False, "filters": []}]}), "client": "127.0.0.1:7", "ms": 240}]},
    "connections": {"open": 3, "max": 1000}, "senders": [{"address": "192.0.2.9", "connections": 2, "points": 4321}], "remote": {"kind": "hbase", "state": "no_ids", "reachable": False, "backlog_points": 12, "backlog_bytes": 2048, "refused_rows": 4, "refused_deletes": 1},
    "config": [{"key": "port", "value": "4243", "default": "4242", "changed": True}, {"key": "bind", "value": "x", "default": "x", "changed": False}]}


class Fake(http.server.BaseHTTPRequestHandler):
    """Answers as the contract of /api/tsd says; counters grow with each request."""
    asked = []
    points = 1000

    def do_GET(self):
        Fake.asked.append(self.path)
        Fake.points += 500
        path = self.path.split("?")[0]
        body = {"/api/tsd/status": STATUS, "/api/version": {"version": "9.8.7"},
                "/api/stats": [{"metric": "tsd.datapoints.added", "value": str(Fake.points), "tags": {"type": "all"}},
                               {"metric": "tsd.storage.compress.all_bytes", "value": "4096", "tags": {}}, {"metric": "tsd.storage.compress.done_bytes", "value": "1024", "tags": {}},
                               {"metric": "tsd.rpc.received", "value": 7, "tags": {"type": "telnet"}}],
                "/api/tsd/metrics": {"metrics": [{"metric": n, "series": 2, "points": Fake.points, "bytes": 1536, "first": 1793577600000,
                                                  "last": 1793620800000, "kind": "count", "unit": "hits"} for n in ("tsd.a", "tsd.b", *NAMES) if "offset" not in self.path],
                                     "more": "offset" not in self.path, "total": 9}}.get(path)
        text = json.dumps(body if body is not None else {"error": {"code": 404, "message": "Endpoint not found"}}).encode()
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self):
        """A compaction that goes on until its progress was asked for three times."""
        stop = time.monotonic() + 60
        while time.monotonic() < stop and sum(p.startswith("/api/stats") for p in Fake.asked) < 3:
            time.sleep(0.02)
        text = json.dumps({"files": 2, "bytes": 4096, "filesAfter": 1, "bytesAfter": 1024, "filesSame": 0, "bytesSame": 0, "filesRecent": 0}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


def run(*args, env=None):
    p = subprocess.run([binary(), *args], capture_output=True, text=True, timeout=120, env=dict(os.environ, **(env or {})))
    return p.returncode, p.stdout, p.stderr


class Terminal:
    """A command on a pseudo-terminal of 40 rows and 100 columns."""

    def __init__(self, *args, env=None, program=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(dict(TERM="xterm", **(env or {})))
            os.execvp(program or binary(), [program or binary(), *args])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.text = ""

    def until(self, what, seconds=60):
        """Read until the pattern was seen, or to the end (what None)."""
        stop = time.monotonic() + seconds
        while time.monotonic() < stop and not (what and re.search(what, self.text)):
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    piece = os.read(self.fd, 65536)
                except OSError:
                    piece = b""
                if not piece:
                    return what is None
                self.text += piece.decode()
        return what is not None and re.search(what, self.text) is not None

    def key(self, text):
        os.write(self.fd, text.encode())

    def code(self):
        self.until(None)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def real_daemon():
    """Without figures a metric has its name; figures that /api/stats has are shown."""
    with Daemon() as d:
        d.send("".join("put %s 1793620800 1 host=a\nput %s 1793620860 1 host=b\n" % (n, n) for n in NAMES))
        d.sync()
        port = ("--port", str(d.port))
        code, out, err = run("metrics", *port)
        check("metrics: code", (code, err), (0, ""))
        check("metrics: names", [line.split()[0] for line in out.splitlines()[1:]], sorted(NAMES))
        check("a part of a name", run("metrics", "WEB", "--format", "csv", *port)[1].count("web."), 2)
        check("a pattern", [line.split()[0] for line in run("metrics", "*.b*", *port)[1].splitlines()[1:]], ["web.bytes"])
        check("one character", [line.split()[0] for line in run("metrics", "web.hit?", *port)[1].splitlines()[1:]], ["web.hits"])
        code, out, err = run("metrics", "nothing*", *port)
        holds("no metric fits", code == 0 and not out and "no metric has" in err, (code, out, err))
        code, out, err = run("metrics", "--limit", "2", *port)
        holds("there are more", len(out.splitlines()) == 3 and "--limit is 2" in err, (out, err))
        d.send("put tsd.own.figure 1793620800 1 host=a\nput tsd.own.other 1793620800 1 host=a\nput zoo 1793620800 1 host=a\n")
        d.sync()
        code, out, err = run("metrics", *port)
        check("metrics of the daemon itself are left out", [line.split()[0] for line in out.splitlines()[1:]], sorted((*NAMES, "zoo")))
        holds("this is said", "tsd metrics 'tsd.*'" in err, err)
        check("a pattern lists them", [line.split()[0] for line in run("metrics", "tsd.*", *port)[1].splitlines()[1:]], ["tsd.own.figure", "tsd.own.other"])
        code, out, err = run("metrics", "--limit", "4", "--format", "csv", *port)
        check("others behind them are found", [line.split(",")[0] for line in out.splitlines()[1:]], sorted((*NAMES, "zoo")))
        holds("CSV without a remark", "tsd.*" not in err, err)
        code, out, err = run("status", *port)
        holds("status", code == 0 and re.search(r"^version +tsd \d", out) and re.search(r"stored +9 points, 9 series, 6 metrics", out), out + err)
        status = json.loads(run("status", "--format", "json", *port)[1])
        check("status as JSON", (status["totals"]["series"], status["totals"]["metrics"]), (9, 6))
        code, out, err = run("top", "--interval", "0.1", *port)
        holds("top in a pipe", code == 0 and re.search(r"points in +[0-9.]+ +9\n", out) and "\033" not in out, out + err)


def progress():
    """tsd export counts on standard error while lines go to a file, on a terminal only; tsd fsck shows bytes."""
    with Daemon() as d:
        d.send("".join("put many.points %d %d host=a\n" % (1793620800 + i, i) for i in range(100000)))
        d.sync()
        port, out = ("--port", str(d.port)), d.base + "/out.txt"
        for words in (("export",), ("export", "many.points")):
            t = Terminal("-c", '"$@" > %s' % out, "sh", binary(), *words, *port, program="sh")
            check("exit of %s" % (words,), t.code(), 0)
            holds("%s ends with its rate" % (words,), re.search(r"tsd: 100,000 lines in [\d.]+ s \([\d,]+ lines/s\)", t.text), t.text)
            with open(out, encoding="ascii") as f:
                check("the lines", sum(1 for _ in f), 100000)
        code, _, err = run("export", *port)
        check("in a pipe nothing is said", (code, err), (0, ""))
        t = Terminal("export", *port)
        holds("lines on the terminal have no bar among them", t.code() == 0 and "lines in" not in t.text and "\033" not in t.text, t.text[-300:])
        d.stop()
        t = Terminal("-c", '"$@" > %s' % out, "sh", binary(), "export", "--data", d.data, program="sh")
        holds("of a folder too", t.code() == 0 and "100,000 lines in" in t.text, t.text)


def known_figures(port):
    """Everything that the daemon says is shown."""
    code, out, err = run("status", *port)
    for part in ("tsd 9.8.7, up 1 d 2 h", "not ok", "the disk is full: free 2 GB", "1,235 points/s in", "12,345,678 points", "3.0 GiB on disk",
                 "1.5 bytes a point", "3 open", "1,000 at most", "hbase does not serve the table of ids, not sent yet: 12 points", "4 rows and 1 delete were refused by it", "max_series", "put x 1 1 a=b", "queries", "1.0 MiB", "1.0 GiB",
                 "sum:web.hits", "127.0.0.1:9", "flush", "4243", "2026-11-02T00:00:00Z"):
        holds("status has " + part, part in out, out + err)
    holds("an account without a limit", re.search(r"merges +1\.0 GiB +-$", out, re.M), out)
    holds("the text of a slow query is cut between characters", re.search(r"127\.0\.0\.1:8 +ä{36}\.\.\. +250$", out, re.M) and "a quick one" not in out, out)
    holds("a query is shown as addresses have it", "127.0.0.1:7  sum:1h-avg:rate:web.hits{domain=*,host=a}, max:tsuids, 2026/11/01 to now" in out, out)
    holds("keys with their defaults are not shown", "bind" not in out, out)
    holds("no escape sequences in a pipe", "\033" not in out, out)
    check("JSON is the daemon's", json.loads(run("status", "-f", "json", *port)[1]), STATUS)
    code, out, err = run("metrics", "web.*", "--sort", "bytes", "-n", "7", *port)
    check("metrics that fit", [line.split()[0] for line in out.splitlines()[1:]], ["web.hits", "web.bytes"])
    holds("a metric's figures", re.search(r"web\.hits +count +hits +2 +[\d,]+ +1\.5 KiB +2026-11-02T00:00:00Z +2026-11-02T12:00:00Z", out), out)
    check("the request", [p for p in Fake.asked if "metrics" in p][-1], "/api/tsd/metrics?limit=7&sort=bytes&pattern=web.*")
    holds("CSV has plain numbers", re.search(r"^web\.hits,count,hits,2,\d+,1536,1793577600000,1793620800000,$", run("metrics", "-f", "csv", *port)[1], re.M), out)
    code, out, err = run("top", "-i", "0.2", *port)
    row = re.search(r"points in +([\d,.]+) +([\d,]+)", out)
    holds("a rate from two views", row and float(row.group(1).replace(",", "")) > 0, out + err)
    holds("senders", re.search(r"address +connections +points_per_s +points\n192\.0\.2\.9 +2 +0 +4,321\n", out), out)
    holds("rates of metrics", re.search(r"metric +points_per_s +series", out) and "Running queries" in out, out)


def terminal(port, server):
    """Colours, keys, a daemon that goes away."""
    t = Terminal("status", *port)
    check("status on a terminal", t.code(), 0)
    holds("colours", "\033[1mversion" in t.text and "\033[31mnot ok\033[0m" in t.text, t.text)
    t = Terminal("status", *port, env={"NO_COLOR": "1"})
    holds("NO_COLOR", t.code() == 0 and "\033" not in t.text, t.text)
    t = Terminal("top", "-i", "0.2", *port)
    holds("top draws", t.until("(?s)Running queries.*q quits.*Running queries.*q quits"), t.text[-3000:])
    server.shutdown()
    server.server_close()
    holds("top says that the daemon has gone", t.until("no daemon answers at"), t.text[-2000:])
    t.key("q")
    check("q ends it", t.code(), 0)
    holds("the screen is as it was", t.text.endswith("\033[?25h\033[?1049l"), t.text[-200:])


def completion():
    """The key Tab in a real bash: commands, options, metrics of the daemon, behind them tags and their values."""
    with Daemon() as d, tempfile.TemporaryDirectory() as folder:
        d.send("put web.hits 1793620800 1 domain=example.org\nput web.bytes 1793620800 1 domain=example.org\n")
        d.sync()
        os.symlink(binary(), folder + "/tsd")
        t = Terminal("--norc", "--noprofile", "-i", program="bash",
                     env={"PATH": folder + ":" + os.environ["PATH"], "TSD_PORT": str(d.port), "PS1": "ready> ", "INPUTRC": "/dev/null"})
        t.until("ready> ")
        t.key("source <(tsd completion bash); echo so''urced\n")
        holds("the script is read", t.until("sourced(?s:.*)ready> "), t.text)
        for typed, becomes in (("tsd que\t", "tsd query "), ("tsd query --allow-p\t", "tsd query --allow-partial "), ("tsd last web.h\t", "tsd last web.hits "),
                               ("tsd last web.hits do\t", "tsd last web.hits domain="), ("tsd last web.hits domain=ex\t", "tsd last web.hits domain=example.org ")):
            t.text = ""
            t.key(typed)
            holds("Tab behind " + typed.strip(), t.until(re.escape(becomes), 20), t.text)
            t.key("\x15")
        t.key("exit\n")
        t.code()


def pager():
    """A long help page goes through PAGER on a terminal, never in a pipe; without such a program it is printed."""
    mark = {"PAGER": "sed s/^/paged:/"}
    t = Terminal("help", "serve", env=mark)
    holds("a long page is paged", t.code() == 0 and "paged:tsd serve - " in t.text, t.text[:300])
    t = Terminal("query", "--help", env=mark)
    holds("--help too", t.code() == 0 and "paged:tsd query - " in t.text, t.text[:300])
    t = Terminal("help", "version", env=mark)
    holds("a short page is not", t.code() == 0 and "tsd version - " in t.text and "paged" not in t.text, t.text)
    for none in ("", "cat", "no-such-program-at-all"):
        t = Terminal("help", "serve", env={"PAGER": none})
        holds("PAGER=" + none, t.code() == 0 and "tsd serve - " in t.text and "Exit codes" in t.text, t.text[-300:])
    holds("no pager in a pipe", "paged" not in run("help", "serve", env=dict(mark, TERM="xterm"))[1])


def compacting(port):
    """tsd compact shows on a terminal how far it is, and nothing of it in a pipe."""
    Fake.asked.clear()
    t = Terminal("compact", *port)
    check("compact on a terminal", t.code(), 0)
    holds("its progress", re.search(r"\[=+ +\]  ?25 %  1\.0 KiB, ", t.text), t.text[:600])
    holds("and what came of it", "2 files of 4.0 KiB became 1 file of 1.0 KiB" in t.text, t.text[-300:])
    code, out, err = run("compact", *port)
    check("in a pipe", (code, err, "%" in out), (0, "", False))
    with Daemon() as d:
        d.send("".join("put many.points %d %d host=a\n" % (1593620800 + i, i) for i in range(100000)))
        d.sync()
        d.stop()
        t = Terminal("compact", "--data", d.data)
        holds("of a folder", t.code() == 0 and "became" in t.text, t.text)


def nobody():
    """A sentence that says what to do."""
    port = str(free_port())
    for command in (("metrics",), ("status",), ("top",)):
        code, out, err = run(*command, "--port", port)
        holds(command[0] + " without a daemon", code == 1 and not out and "no daemon answers at 127.0.0.1:%s (start one with tsd serve" % port in err, (code, out, err))
    for args in (("top", "-i", "0"), ("top", "x"), ("metrics", "a", "b"), ("metrics", "-n", "0"), ("metrics", "--sort", "size"), ("status", "-f", "csv")):
        check("usage: " + " ".join(args), run(*args)[0], 2)


def main():
    real_daemon()
    progress()
    completion()
    pager()
    nobody()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fake)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = ("--port", str(server.server_port))
    known_figures(port)
    compacting(port)
    terminal(port, server)
    end("tsd metrics, status and top")


main()
