#!/usr/bin/env python3
"""Every command of README.md's first steps and of the marked pages of docs/ is run as it stands, and what it prints is compared with the lines below it; the
example of docs/QUERY.md too.

In an indented block a line that begins with a program is a command; the lines below it, if there are any, are its whole output, in which a line "..." stands for
any lines. A command without such lines must end with 0, and print something unless its output goes elsewhere or it only stores. The daemon's port stands
for 4242; nc is played by this script. A page of docs/ takes part when it has the line RUN; each has a daemon with an empty folder, its commands run in the order
of the page, and a block below the line NOT_RUN is left out (what changes the machine, for instance).
"""
import fnmatch
import glob
import os
import re
import socket
import subprocess
import sys

from tsdtest import ROOT, Daemon, binary

PROGRAMS = ("tsd ", "curl ", "printf ", "scripts/", "export ", "cmake ", "./", "build/", "kill ", "awk ", "grep ", "zstd ", "echo ", "sudo ")
SILENT = ("gzip >", " > ", "--plot", "/api/put", "tsd import", "tsd metric set", "tsd flush", "weblog-import")
RUN = "<!-- the commands of this page are run by tests/integration/documents.py -->"
NOT_RUN = "<!-- not run -->"
NC = r'''
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(sys.stdin.buffer.read())
s.shutdown(socket.SHUT_WR)
while got := s.recv(65536):
    sys.stdout.buffer.write(got)
'''
failures = []


def check(what, ok, got):
    if not ok:
        failures.append(what)
        print("DIFFERENT %s: %s" % (what, got))


def commands(text):
    """(command, lines of output below it) of the indented blocks, without those below NOT_RUN and those that hold no command."""
    text = re.sub(re.escape(NOT_RUN) + r"\n\n(?:    .*\n)+", "", text)
    found = []
    for line in text.splitlines():
        if not line.startswith("    "):
            found.append(None)
            continue
        line = line[4:]
        if line.startswith(PROGRAMS):
            found.append((line, []))
        elif found and found[-1]:
            found[-1][1].append(line)
        else:
            check("a line of output without a command", False, line)
    return [f for f in found if f]


def same(got, want):
    """Lines that were printed are those that are shown; "..." stands for any number of them."""
    pattern = "\n".join("*" if line == "..." else re.sub(r"([*?[])", r"[\1]", line) for line in want)
    return fnmatch.fnmatchcase("\n".join(got), pattern)


def run(d, command, env):
    """Its output, with the port of this daemon; serve and build steps are this script's business."""
    command = command.replace("localhost:4242", "127.0.0.1:%d" % d.port).replace("nc -q 1 localhost 4242", "python3 nc.py %d" % d.port)
    return subprocess.run(command, shell=True, cwd=d.base, env=env, text=True, capture_output=True, timeout=300)


def readme(d):
    with open(ROOT + "/README.md", encoding="utf-8") as f:
        text = f.read().split("## Five minutes", 1)[1].split("\n## ", 1)[0]
    with open(d.base + "/nc.py", "w") as f:
        f.write(NC)
    os.symlink(binary(), d.base + "/tsd")
    n = 0
    for command, want in commands(text):
        if command.startswith(("scripts/", "export ", "tsd serve")):
            continue
        if command.startswith("kill "):  # the daemon: a command with --data would be refused while it runs
            d.stop()
            continue
        try_command(d, command, want)
        n += 1
    check("number of commands", n >= 16, n)


def try_command(d, command, want):
    """Run one command and compare what it prints with the lines below it."""
    r = run(d, command, dict(os.environ, TSD_PORT=str(d.port), PATH=d.base + ":" + os.environ["PATH"]))
    out = r.stdout.rstrip("\n")
    if "2>&1" not in command:  # shows an error
        check(command, r.returncode == 0, "exit %d %s" % (r.returncode, r.stderr))
    if want:
        check(command, same(out.split("\n"), want), "\n%s\n--- instead of\n%s\n%s" % (out, "\n".join(want), r.stderr))
    elif not any(s in command for s in SILENT):
        check(command, out and out != "[]", "nothing printed; " + r.stderr)


def marked_page(path):
    """One page with RUN; the number of its commands."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    rows = commands(text)
    check("%s has commands with answers" % path, sum(1 for _, want in rows if want) >= 5, rows)
    with Daemon(workers=2) as d:
        os.symlink(binary(), d.base + "/tsd")
        os.symlink(ROOT + "/tests", d.base + "/tests")
        for command, want in rows:
            try_command(d, command, want)
    return len(rows)


def marked_pages():
    """All pages of docs/ that have RUN."""
    pages = []
    for path in sorted(glob.glob(ROOT + "/docs/*.md")):
        with open(path, encoding="utf-8") as f:
            if RUN in f.read().splitlines():
                pages.append(path)
    check("marked pages", len(pages) >= 2, pages)
    for path in pages:
        print("documents: %d commands of %s" % (marked_page(path), os.path.basename(path)))


def query_example(d):
    """The table of docs/QUERY.md: two shops, an hour without orders."""
    with open(ROOT + "/docs/QUERY.md", encoding="utf-8") as f:
        text = f.read().split("## The two kinds on one example", 1)[1].split("\n## ", 1)[0]
    points = re.findall(r"shop\.orders (\d\d):(\d\d) (\d+) (shop=\w+)", text)
    rows = re.findall(r"^\| `([^`]+)` \| \**(\d+)\** \| \**(\d+)\** \| \**(\d+)\** \|", text, re.M)
    day = 1793577600
    d.send("".join("put shop.orders %d %s %s\n" % (day + int(h) * 3600 + int(m) * 60, v, tag) for h, m, v, tag in points))
    d.sync()
    check("points and rows of QUERY.md", len(points) == 5 and len(rows) == 2, (points, rows))
    for what, *want in rows:
        if what.startswith("m="):
            got = [int(v) for v in d.api("/api/query?start=%d&end=%d&%s" % (day + 7200, day + 5 * 3600, what))[0]["dps"].values()]
        else:
            words = what.replace("...", "2026/11/02 2026/11/02").split()[2:]
            got = [int(r[-1]) for r in d.query(*words)[1]]
        check(what, got == [int(w) for w in want], (got, want))


def main():
    with Daemon(workers=2) as d:
        query_example(d)
        readme(d)
    marked_pages()
    print("documents: %s" % ("fine" if not failures else "%d different" % len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
