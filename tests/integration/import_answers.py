#!/usr/bin/env python3
"""`tsd import` against a daemon that is played here: what it says when points could not be stored, in the first block or the last, when the connection
ends too early, and when lines that were refused are taken at the second try."""
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from tsdtest import binary, until

TMP = tempfile.TemporaryDirectory(prefix="tsd-import.")
REFUSED = b"put: illegal argument: made up\n"


def check(ok, what):
    if not ok:
        sys.exit("import_answers: " + what)


class Fake:
    """A daemon. refuse(line, connection) is the text a put line is refused with, or None; syncs are the answers to sync in turn: None = "ok N",
    bytes, "close", "late": it is answered with the next one, or "silent". Connections are numbered from 0: import's second one looks for bad lines."""

    def __init__(self, refuse=lambda line, connection: None, syncs=()):
        self.refuse, self.syncs, self.n_syncs, self.n_puts, self.late = refuse, list(syncs), 0, 0, b""
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        n = 0
        while True:
            try:
                conn = self.socket.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(conn, n), daemon=True).start()
            n += 1

    def serve(self, conn, number):
        n_taken = 0
        with conn, conn.makefile("rb") as lines:
            for line in lines:
                if line.startswith(b"put "):
                    text = self.refuse(line, number)
                    self.n_puts += 1
                    n_taken += not text
                elif line == b"version\n":
                    text = b"tsd 0\nBuilt by hand\n"
                else:
                    check(line == b"sync\n", "import sends %r" % line)
                    text = self.syncs.pop(0) if self.syncs else None
                    self.n_syncs += 1
                    if text == "close":
                        return
                    if text == "silent":
                        continue
                    if text == "late":
                        self.late, text = b"ok %d\n" % n_taken, None
                        continue
                    text, self.late = self.late + (text or b"ok %d\n" % n_taken), b""
                if text:
                    conn.sendall(text)


def run(fake, n_lines, line=lambda i: "m.points %d %d host=web01 cpu=%d\n" % (1500000000 + i, i, i % 7)):
    path = TMP.name + "/points"
    with open(path, "w") as f:
        f.writelines(line(i) for i in range(n_lines))
    p = subprocess.run([binary(), "import", path, "--port", str(fake.port)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       timeout=600, check=False)
    fake.socket.close()
    return p.returncode, p.stdout


def case(fake, n_lines, code, *texts):
    got, out = run(fake, n_lines)
    check(got == code, "ended with %d, not %d: %s" % (got, code, out))
    for text in texts:
        check(text in out, "%r is missing in: %s" % (text, out))
    return out


def main():
    # all is well, in one block and in several
    case(Fake(), 10, 0, "10 points in")
    fake = Fake()
    case(fake, 200000, 0, "200,000 points in")
    n_blocks = fake.n_syncs
    check(n_blocks >= 2, "%d blocks" % n_blocks)
    # the only block, and the last of several, could not be stored: no point of it counts
    case(Fake(syncs=[b"sync: error the disk is full\n"]), 10, 1, "could not store the points", "the disk is full", "0 points in")
    out = case(Fake(syncs=[None] * (n_blocks - 1) + [b"sync: error the disk is full\n"]), 200000, 1, "the disk is full")
    check("200,000 points" not in out and "\n0 points" not in out, "the count includes what was not stored, or nothing: " + out)
    # the connection ends before the last answer
    case(Fake(syncs=[None] * (n_blocks - 1) + ["close"]), 200000, 1, "closed the connection")
    # refused on the first connection, taken when import looks for the bad lines
    def once(line, connection):
        return b"put: storage error: made up\n" if connection == 0 and b" cpu=3" in line else None
    case(Fake(once), 14, 0, "14 points in")
    # one is refused for good, the others at first only
    def bad(line, connection):
        return REFUSED if b" 5 host" in line else once(line, connection)
    case(Fake(bad), 14, 1, ":6: illegal argument: made up", "1 line was refused", "13 points in")
    # a block with a bad line is sent again when the next one, with newer values of the same times, was stored already
    values = {}

    def keep(line, connection):
        _, metric, at, value, *_ = line.split()
        if metric == b"m.twice":
            values.setdefault(at, []).append((connection, int(value)))
        return bad(line, 1)
    got, out = run(Fake(keep, syncs=["late"]), 200000, lambda i: "m.twice %d %d host=web01\n" % (1500000000 + i % 1000, i) if i % 10 == 3 else
                   "m.points %d %d host=web01 cpu=%d\n" % (1500000000 + i, i, i % 7))
    check(got == 1 and "199,999 points" in out, "%d: %s" % (got, out))
    check(len(values) == 100 and all(max(value for c, value in all_of if c == 1) > 100000 for all_of in values.values()),
          "the block behind the one with a bad line was not sent again")
    check(all(all_of[-1][1] == max(value for _, value in all_of) for all_of in values.values()),
          "an older value arrived last")
    # Ctrl-C says what is done, and how to go on
    fake = Fake(syncs=["silent"])
    logs = [TMP.name + "/%s.log" % name for name in ("a", "b")]
    for log in logs:
        with open(log, "w") as f:
            f.write('10.0.0.1 - - [06/Nov/2026:12:00:00 +0000] "GET /%s HTTP/1.1" 200 100\n' % log[-5])
    p = subprocess.Popen([binary(), "collect", "weblog-import", "--collect-dir", "none", "--server", "127.0.0.1:%d" % fake.port, *logs],
                         stderr=subprocess.PIPE, text=True)
    until("a sync", lambda: fake.n_syncs)
    p.send_signal(signal.SIGINT)
    out = p.communicate(timeout=600)[1]
    check(p.returncode == 1 and "0 of 2 files are counted and stored; to continue, import %s and the files after it again" % logs[0] in out and
          "interrupted" in out, "%d: %s" % (p.returncode, out))
    fake.socket.close()
    print("import_answers: fine")


if __name__ == "__main__":
    main()
