#!/usr/bin/env python3
"""Every command of README.md's first steps and of the pages of docs/ is run as it stands, and what it prints is compared with the lines below it; the
table at the beginning of docs/QUERY.md too.

    documents.py [PAGE...]             only these pages, for example EXAMPLES.md
    documents.py --accept PAGE         writes the answers of this page anew (but those with a line "..."): read the difference

In an indented block a line that begins with a program is a command, which goes on in the next line while a quote is open or after a backslash; the lines below it,
if there are any, are its whole output, in which a line "..." stands for any lines. A command without such lines must end with 0, and print something unless its
output goes elsewhere or it only stores. The daemon's port stands for 4242; nc is played by this script. A page of docs/ that has commands of tsd or curl must have
the line RUN; each has a daemon with an empty folder and its commands run in the order of the page. A block below the line NOT_RUN is left out: what changes the
machine, needs an HBase, or only shows the form of a command.
"""
import fnmatch
import glob
import os
import re
import socket
import subprocess
import sys

from tsdtest import ROOT, Daemon, binary

PROGRAMS = ("tsd ", "curl ", "printf ", "scripts/", "export ", "cmake ", "./", "build/", "kill ", "awk ", "grep ", "zstd ", "echo ", "sudo ", "for ", "cat ", "env ")
SILENT = ("gzip >", " > ", "--plot", "/api/put", "tsd import", "tsd metric set", "tsd flush", "weblog-import", "nc -q")
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
# Endpoints without an example: the page (page.py), the importer's own, those that need an HBase (hbase.py), the end of the daemon, and older names of others.
NO_EXAMPLE = ("", "s/*", "favicon.ico", "api/admin/bulk", "api/admin/bulk/names", "api/admin/bulk/take", "api/admin/compact", "api/admin/rebalance", "api/admin/refused", "api/admin/reship", "diediedie",
              "aggregators", "dropcaches", "stats", "suggest", "version")
failures = []


def check(what, ok, got):
    if not ok:
        failures.append(what)
        print("DIFFERENT %s: %s" % (what, got))


class Command:
    """A command of a page, and what it shall print."""

    def __init__(self, text, at):
        self.text, self.want = text, []
        self.at = at  # number of the line below it, from 0

    def open(self):
        """Does it go on in the next line?"""
        return self.text.count("'") % 2 == 1 or self.text.endswith("\\")


def commands(text):
    """The commands of the indented blocks of a page, without those below NOT_RUN and those that hold no command."""
    found, skip, last = [], False, None
    for n, line in enumerate(text.splitlines()):
        if not line.startswith("    "):
            if line:
                skip = line == NOT_RUN
            last = None
            continue
        line = line[4:]
        if skip:
            continue
        if last and last.open():
            last.text += "\n" + line
            last.at = n + 1
        elif line.startswith(PROGRAMS):
            last = Command(line, n + 1)
            found.append(last)
        elif last:
            last.want.append(line)
    return found


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
    for c in commands(text):
        if c.text.startswith(("scripts/", "export ", "tsd serve")):
            continue
        if c.text.startswith("kill "):  # the daemon: a command with --data would be refused while it runs
            d.stop()
            continue
        try_command(d, c.text, c.want)
        n += 1
    check("number of commands", n >= 16, n)


def try_command(d, command, want):
    """Run one command and compare what it prints with the lines below it; what it printed, as lines."""
    r = run(d, command, dict(os.environ, TSD_PORT=str(d.port), TSD_COLLECT_DIR=d.base + "/collect", PATH=d.base + ":" + os.environ["PATH"]))
    out = r.stdout.rstrip("\n")
    if "2>&1" not in command:  # shows an error
        check(command, r.returncode == 0, "exit %d %s" % (r.returncode, r.stderr))
    if want:
        check(command, same(out.split("\n"), want), "\n%s\n--- instead of\n%s\n%s" % (out, "\n".join(want), r.stderr))
    elif not any(s in command for s in SILENT):
        check(command, out and out != "[]", "nothing printed; " + r.stderr)
    return out.split("\n")


def marked_page(path, accept=False):
    """One page with RUN; the number of its commands. With accept its answers are written anew."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    rows, lines = commands(text), text.split("\n")
    got = []
    with Daemon(workers=2) as d:
        os.symlink(binary(), d.base + "/tsd")
        os.symlink(ROOT + "/tests", d.base + "/tests")
        with open(d.base + "/nc.py", "w") as f:
            f.write(NC)
        for c in rows:
            got.append(try_command(d, c.text, c.want).copy())
    if accept:
        for c, out in reversed(list(zip(rows, got))):
            if c.want and "..." not in c.want:
                lines[c.at:c.at + len(c.want)] = ["    " + line for line in out]
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(lines))
    return len(rows), sum(1 for c in rows if c.want)


def marked_pages(only):
    """All pages of docs/ that have RUN, which every page with commands of tsd or curl has."""
    total = 0
    for path in sorted(glob.glob(ROOT + "/docs/*.md")):
        name = os.path.basename(path)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if RUN not in text.splitlines():
            loose = [c.text for c in commands(text) if re.match(r"tsd [a-z]|curl ", c.text)]
            check("%s has commands, but not the line %s" % (name, RUN), not loose, loose)
        elif not only or name in only:
            n, answers = marked_page(path)
            total += n
            print("documents: %d commands of %s, %d with an answer" % (n, name, answers))
    check("commands of the pages", only or total >= 150, total)


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


def endpoints():
    """Every endpoint of routes.c has an example in a page whose commands are run."""
    with open(ROOT + "/tsd/protocols/http/routes.c", encoding="utf-8") as f:
        rows = set(re.findall(r'^    \{"([^"]*)",', f.read(), re.M))
    asked = set()
    for path in glob.glob(ROOT + "/docs/*.md"):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if RUN in text.splitlines():
            asked |= {part for c in commands(text) for part in re.findall(r"localhost:4242/([\w./]+)", c.text)}
    without = {r for r in rows if not any(a == r or (r.endswith("*") and a.startswith(r[:-1])) for a in asked)}
    check("endpoints without an example", len(rows) > 60 and without <= set(NO_EXAMPLE), sorted(without - set(NO_EXAMPLE)))
    check("endpoints that need no exception", set(NO_EXAMPLE) <= without, sorted(set(NO_EXAMPLE) - without))


def main():
    args = sys.argv[1:]
    if args[:1] == ["--accept"]:
        for name in args[1:]:
            marked_page(ROOT + "/docs/" + name, accept=True)
        return 0
    if not args:
        with Daemon(workers=2) as d:
            query_example(d)
            readme(d)
        endpoints()
    marked_pages(args)
    print("documents: %s" % ("fine" if not failures else "%d different" % len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
