"""A real daemon for tests: its own folder and port; start, kill, send lines, ask.

    with Daemon(workers=2) as d:
        d.send("put m 1 2 a=b\\n"); d.sync(); d.query("1970/01/01", "1970/01/02", "sum", "m", "--by", "day")

Binary: $TSD, else the first of ./build/dev/tsd ./build/tsd. Only the standard library is used.
"""
import atexit
import csv
import fcntl
import functools
import io
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def binary():
    for path in (os.environ.get("TSD"), ROOT + "/build/dev/tsd", ROOT + "/build/release/tsd", ROOT + "/build/tsd"):
        if path and os.path.exists(path):
            return os.path.abspath(path)
    sys.exit("tsd is not built; set TSD to the program")


@functools.cache
def port_locks():
    """A file whose byte N is locked by the test that uses port N. It stays open: POSIX locks of a process end when it closes the file or ends."""
    return open("%s/tsd-test-ports.%d" % (tempfile.gettempdir(), os.getuid()), "ab")


def free_port():
    """A port that nobody listens on and that no other test is given while this one runs: not before its daemon listens, not while it is restarted.
    It is below those that the system gives to outgoing connections."""
    for _ in range(100):
        port = random.randrange(15000, 32000)
        with socket.socket() as s:
            try:
                fcntl.lockf(port_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    sys.exit("no free port between 15000 and 32000")


def talk(s, data, shut=True):
    """Send on a connection, half-close it unless told otherwise, read to the end, close."""
    with s:
        s.sendall(data)
        if shut:
            s.shutdown(socket.SHUT_WR)
        out = b""
        while got := s.recv(1 << 16):
            out += got
        return out


def together(*calls):
    """Run calls (function, argument ...) in a thread each, at the same time; wait for all."""
    threads = [threading.Thread(target=f, args=args) for f, *args in calls]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def until(what, test, seconds=300):
    """The first true answer of test(); ends the program when there is none in that time."""
    limit = time.monotonic() + seconds
    while not (got := test()):
        if time.monotonic() > limit:
            sys.exit("%s: not within %d s" % (what, seconds))
        time.sleep(0.02)
    return got


class Daemon:
    """One `tsd serve`; the folder outlives restarts and is removed at exit."""

    def __init__(self, workers=2, data=None, **keys):
        self.base = None if data else tempfile.mkdtemp(prefix="tsd-test.")
        self.data = data or self.base + "/data"
        self.keys, self.workers = {"self_metrics": "false", **keys}, workers  # tests count points and series
        self.port, self.proc, self.conn = free_port(), None, None
        if self.base:
            atexit.register(shutil.rmtree, self.base, True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self, workers=None):
        self.workers = workers or self.workers
        argv = [binary(), "serve", "--data", self.data, "--port", str(self.port), "--workers", str(self.workers)]
        for key, value in self.keys.items():
            argv += ["--" + key.replace("_", "-"), str(value)]
        self.log = open((self.base or self.data) + ("/log" if self.base else ".log"), "ab")
        self.proc = subprocess.Popen(argv, stdout=self.log, stderr=self.log)
        until = time.monotonic() + 60
        while True:
            if self.proc.poll() is not None:
                sys.exit("tsd ended at once with %d:\n%s" % (self.proc.returncode, open(self.log.name).read()[-2000:]))
            try:
                self.http("/api/version")
                return self
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def stop(self, sig=signal.SIGTERM):
        if self.conn:
            self.conn.close()
            self.conn = None
        if self.proc and self.proc.poll() is None:
            self.proc.send_signal(sig)
            self.proc.wait(120)
        if self.proc:
            code, self.proc = self.proc.returncode, None
            self.log.close()
            if sig == signal.SIGTERM and code != 0:
                sys.exit("tsd ended with %d:\n%s" % (code, open(self.log.name).read()[-4000:]))

    def restart(self, workers=None):
        self.stop()
        return self.start(workers)

    def kill(self):
        self.stop(signal.SIGKILL)

    # --- line protocol ---
    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), 600)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def talk(self, data, shut=True):
        """What a connection of its own answers to bytes or a text, as bytes."""
        return talk(self.connect(), data if isinstance(data, bytes) else data.encode(), shut)

    def send(self, text):
        if not self.conn:
            self.conn = self.connect()
        self.conn.sendall(text.encode() if isinstance(text, str) else text)

    def sync(self):
        """Number of points accepted on this connection, all on disk."""
        self.send("sync\n")
        line = b""
        while not line.endswith(b"\n"):
            got = self.conn.recv(1)
            if not got:
                sys.exit("connection closed before the answer to sync: %r" % line)
            line += got
        if not line.startswith(b"ok "):
            sys.exit("unexpected answer: %r" % line)
        return int(line[3:])

    # --- HTTP ---
    def http(self, path, body=None, method=None, headers=None):
        h = {"Content-Type": "application/json"} if body is not None else {}
        h.update(headers or {})
        req = urllib.request.Request("http://127.0.0.1:%d%s" % (self.port, path), data=body, headers=h, method=method)
        with urllib.request.urlopen(req, timeout=300) as f:
            return f.read()

    def api(self, path, body=None):
        return json.loads(self.http(path, None if body is None else json.dumps(body).encode()))

    def flush(self, level):
        self.http("/api/admin/flush?level=" + level, method="POST")

    # --- command line ---
    def run(self, *args, check=True):
        p = subprocess.run([binary(), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        if check and p.returncode != 0:
            sys.exit("tsd %s ended with %d: %s" % (" ".join(args), p.returncode, p.stderr))
        return p

    def query(self, *args):
        """`tsd query` as CSV: (header, rows)."""
        p = self.run("query", *args, "--format", "csv", "--port", str(self.port))
        rows = list(csv.reader(io.StringIO(p.stdout)))
        return rows[0], [tuple(r) for r in rows[1:]]
