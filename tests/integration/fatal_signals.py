#!/usr/bin/env python3
"""A fatal signal leaves one line in the log, whichever thread of the daemon it hits, and then ends the daemon as the system would have. No thread
blocks these signals. Lines that once ended the daemon are refused instead."""
import ctypes
import os
import re
import signal
import sys

from metakit import end, holds
from tsdtest import Daemon, until

FATAL = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)
SANITIZED = bool(os.environ.get("TEST_SANITIZE"))       # a sanitizer has handlers of its own and prints more
TGKILL = 234 if os.uname().machine == "x86_64" else 131
libc = ctypes.CDLL(None, use_errno=True)


def each_thread(d, file):
    """(thread id, text of a file of it in /proc) of each thread of the daemon that lives long enough to be read."""
    top = "/proc/%d/task" % d.proc.pid
    for t in os.listdir(top):
        try:
            with open("%s/%s/%s" % (top, t, file)) as f:
                yield int(t), f.read()
        except OSError:
            pass


def threads(d):
    """{name: thread id} of the daemon."""
    return {text.strip(): t for t, text in each_thread(d, "comm")}


def thread(d, name):
    """The id of a thread; it has its name a moment after it was started, and before that the one of the main thread."""
    if name == "tsd":
        return d.proc.pid
    return until("thread " + name, lambda: threads(d).get(name))


def blocked(d):
    """Names of threads that block a fatal signal."""
    names = []
    for _, status in each_thread(d, "status"):
        mask = int(re.search(r"^SigBlk:\s*([0-9a-f]+)", status, re.M).group(1), 16)
        if any(mask >> (s - 1) & 1 for s in FATAL):
            names.append(re.search(r"^Name:\s*(.*)", status, re.M).group(1))
    return names


def hit(d, name, sig):
    """Send a signal to a thread; returns the exit status and what the log got."""
    size = os.path.getsize(d.log.name)
    if libc.syscall(TGKILL, d.proc.pid, thread(d, name), int(sig)) != 0:
        raise OSError(ctypes.get_errno(), "tgkill")
    code = d.proc.wait(120)
    with open(d.log.name) as f:
        f.seek(size)
        return code, f.read()


def lines_that_crashed(d):
    out = d.talk("histogram h.m 1795312222 u=0:o=0:0,1.5=42 \nrollup 1h-sum r.m 1795312222 4 \nput p.m 1795312222 4 \nversion\n").decode()
    for word in ("histogram", "rollup", "put"):
        holds(word + " without tags", "%s: illegal argument: Need at least one tag (metric=%s.m, tags={})\n" % (word, word[0]) in out, out)
    holds("the daemon goes on", "built at revision" in out, out)
    path = d.base + "/lines"
    with open(path, "w") as f:
        f.write("histogram h.m 1795312222 u=0:o=0:0,1.5=42 \nrollup 1h-sum r.m 1795312222 4 \nput p.m 1795312222 4 h=a\n")
    p = d.run("import", path, "--data", d.base + "/import", check=False)
    holds("import into a folder", p.returncode == 1 and p.stderr.count("a tag is missing") == 2, (p.returncode, p.stdout, p.stderr))


def main():
    d = Daemon(workers=2, rollups="true", collect="true", collect_only="load")
    d.start()
    lines_that_crashed(d)
    d.api("/api/suggest?type=metrics")      # a job
    for name in ("tsd-worker-0", "tsd-worker-1", "tsd-job", "tsd-query", "tsd-sink", "c-load"):
        thread(d, name)
    until("threads that block no fatal signal", lambda: all(SANITIZED and name == "tsd" for name in blocked(d)))  # gcc's thread sanitizer has a thread of its own; each new thread blocks them for a moment
    version = d.run("version").stdout.split()[1]
    for name, sig in (("tsd-worker-0", signal.SIGSEGV), ("tsd-job", signal.SIGBUS), ("tsd-query", signal.SIGFPE), ("tsd", signal.SIGABRT),
                      ("tsd-worker-1", signal.SIGILL), ("c-load", signal.SIGSEGV)):
        code, log = hit(d, name, sig)
        what = "%s in %s" % (sig.name, name)
        if SANITIZED and "Sanitizer" in log:  # sanitizers keep some of the signals for themselves
            holds(what, code != 0, (code, log))
        else:
            want = "tsd: fatal signal %d (%s) " % (sig, sig.name)
            lines = [l for l in log.split("\n") if l.startswith(want)]
            holds(what + ": one line", len(lines) == 1 and lines[0].endswith(", thread %s, version %s" % (name, version)), log)
            holds(what + ": ends the daemon", code == -sig, code)
        d.log.close()
        d.start()
        d.api("/api/suggest?type=metrics")
    d.stop()
    end("fatal signals")


if __name__ == "__main__":
    main()
