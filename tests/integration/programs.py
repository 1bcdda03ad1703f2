#!/usr/bin/env python3
"""Programs as collectors: those of programs/collectors (in tcollector's layout and manners) run below a real `tsd collect` that sends to a
real daemon. They keep a diary of what they print; all of it must come back, and nothing else of them. Meanwhile one crashes, one prints
garbage, one hangs with a child, one is too slow, one asks not to be started again; files are added, changed and removed."""
import os
import shutil
import subprocess
import sys

import collect
from collect import Collector, TMP, check, stored, wait_for
from tsdtest import Daemon, ROOT, binary

HOME = TMP.name + "/opt"
FOLDER = HOME + "/collectors"
DIARY = TMP.name + "/diary"
# a daemon with a sanitizer, beside other tests, takes seconds to start a program
SILENCE_S = "12" if os.environ.get("TEST_SANITIZE") else "3"


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def diary(metric=None):
    """What was printed: [(metric, time, value, tags)]."""
    rows = []
    if os.path.exists(DIARY):
        with open(DIARY) as f:
            rows = [(w[0], w[1], w[2], w[3:]) for w in (line.split() for line in f.read().split("\n")[:-1])]
    return [r for r in rows if metric in (None, r[0])]


def values(d, metric):
    return [float(v) for v in stored(d, metric).values()]


def figure(d, name, program, more=()):
    """The newest value of a program's own figure."""
    rows = [(int(ts), int(float(v))) for (t, ts), v in stored(d, "tsd.collect.program." + name).items()
            if {"program=" + program, *more} <= set(t.split())]
    return max(rows)[1] if rows else -1


def write(path, text):
    """As an installer does: the whole file appears at once."""
    with open(path + "~", "w") as f:
        f.write(text)
    os.chmod(path + "~", 0o755)
    os.rename(path + "~", path)


LATER = """#!/usr/bin/env python3
import os, time
from collectors.lib import utils
while True:
    utils.point("it.later", int(time.time() * 1000), os.getpid(), "version=%d")
    time.sleep(0.1)
"""


def files_come_change_and_go():
    path = FOLDER + "/0/later.py"
    write(path, LATER % 1)
    wait_for("a new program", lambda: diary("it.later"))
    first = int(diary("it.later")[0][2])
    write(path, LATER % 2)
    wait_for("the changed program", lambda: any(r[3] == ["version=2"] for r in diary("it.later")))
    check(not alive(first), "the old version runs beside the new one")
    second = int(diary("it.later")[-1][2])
    os.unlink(path)
    wait_for("the end of a removed program", lambda: not alive(second))
    n_never = len(diary("it.never"))
    check(n_never == 1, "status 13 was started %d times" % n_never)
    os.utime(FOLDER + "/60/never.py")
    wait_for("status 13 to be started after its file changed", lambda: len(diary("it.never")) == 2)


def hanging_ones_are_ended(log):
    wait_for("the second start of hang.py", lambda: len(diary("it.hang")) >= 2)
    rows = diary("it.hang") + diary("it.hang.child")
    check(not alive(int(diary("it.hang")[0][2])) and not alive(int(diary("it.hang.child")[0][2])), "hang.py or its child are there still: %s" % rows)
    wait_for("the second start of slow.py", lambda: len(diary("it.slow")) >= 2)
    check(not alive(int(diary("it.slow")[0][2])), "slow.py runs twice")
    text = open(log).read()
    for what in ("program hang.py printed no line for", "program slow.py still runs at its next turn", "program crash.py ended with status 1; again in 1 s",
                 "program never.py asks not to be started again", "program garbage.py prints lines that are no points", "SystemError: this one always fails",
                 "program garbage.py: a complaint of garbage.py", "0/plain.py is left out: it is not executable", "300/never.py is left out: another interval"):
        check(what in text, "the log lacks %r:\n%s" % (what, text))
    check(text.count("garbage.py prints lines") == 1, "bad lines are logged more than once")


def what_was_printed_is_stored(d):
    rows = diary()
    have = {m: stored(d, m) for m in {r[0] for r in rows}}
    for metric, ts, value, tags in rows:
        words = tags if any(t.startswith("host=") for t in tags) else tags + ["host=testhost"]
        if "." in ts:
            ts = ts.replace(".", "")
        key = " ".join(sorted(words)), ts if not ts.endswith("000") or len(ts) < 13 else ts[:-3]
        got = have[metric].get(key)
        check(got is not None and float(got) == float(value), "%s %s: printed %s, stored %s" % (metric, key, value, got))
    for metric, points in have.items():
        n = len({(r[1], tuple(r[3])) for r in rows if r[0] == metric})
        check(n <= len(points) <= n + 3, "%s: %d printed, %d stored" % (metric, n, len(points)))  # some may have been killed before they took note
    for metric in ("it.bad", "it.cut", "it.hidden", "it.twice", "it"):
        check(not stored(d, metric), metric + " is stored")
    check(values(d, "it.halves") and set(values(d, "it.halves")) == {4711.0}, "a line in two halves")
    check(set(values(d, "it.every.stdin")) == {0.0} and set(values(d, "it.every.leader")) == {1.0}, "standard input, group")
    check(all("cwd=/" in t for t, _ in stored(d, "it.every")), "folder")


def figures(d):
    starts = figure(d, "starts", "garbage.py")
    ends = figure(d, "ends", "garbage.py", ["result=ok"])
    check(0 < 11 * ends <= figure(d, "bad_lines", "garbage.py") <= 11 * starts, "bad lines of garbage.py: %d starts, %d ends" % (starts, ends))
    check(figure(d, "ends", "crash.py", ["result=failed"]) >= 2, "ends of crash.py")
    check(figure(d, "ends", "never.py", ["result=never"]) == 2 == figure(d, "starts", "never.py"), "ends of never.py")
    check(figure(d, "ends", "hang.py", ["result=stopped"]) >= 1, "ends of hang.py")
    check(figure(d, "points", "loop.py") >= len(diary("it.loop.ms")) * 3 - 3, "points of loop.py")
    check(figure(d, "ends", "echo", ["result=ok"]) >= 1, "ends of a command")


class Once:
    """--once starts every program once and ends those that run for ever after a while; it runs beside the rest."""

    def __init__(self):
        self.diary = TMP.name + "/once.diary"
        self.proc = subprocess.Popen([binary(), "collect", "--once", "--format", "text", "--only", "programs", "--collect-programs-dir", "collectors",
                                      "--collect-commands", "60 echo it.command $(date +%s) 42", "--collect-host", "h"], cwd=HOME, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(collect.ENV, PROGRAMS_DIARY=self.diary))

    def check(self):
        names = [line.split()[1] for line in self.proc.communicate(timeout=300)[0].splitlines()]
        check(self.proc.returncode == 0, "--once ended with %d" % self.proc.returncode)
        for metric in ("it.command", "it.never", "it.slow", "it.hang", "it.crash"):
            check(names.count(metric) == 1, "--once: %d points of %s" % (names.count(metric), metric))
        check(names.count("it.loop.ms") >= 2, "--once: points of loop.py")
        with open(self.diary) as f:
            child = [line.split()[2] for line in f if line.startswith("it.hang.child ")]
        check(not alive(int(child[0])), "--once left a child of hang.py")


def inside_the_daemon(d):
    wait_for("points of a command of serve --collect", lambda: stored(d, "it.inside"))
    check(all(t == "a=b host=inner" for t, _ in stored(d, "it.inside")), "tags")


def main():
    shutil.copytree(ROOT + "/tests/integration/programs/collectors", FOLDER)
    collect.ENV["PROGRAMS_DIARY"] = DIARY
    one = Once()
    with Daemon(workers=1) as d, Daemon(workers=1, collect="true", collect_only="programs", collect_host="inner", collect_send_delay_ms=0,
                                        collect_commands="1 echo it.inside $(date +%s) 6 a=b") as inner:
        c = Collector("programs", d.port, "--only", "programs", "--collect-programs-dir", FOLDER, "--collect-programs-scan-s", "1",
                      "--collect-programs-silence-s", SILENCE_S, "--collect-commands", "1 echo it.command $(date +%s) 42").start()
        files_come_change_and_go()
        hanging_ones_are_ended(c.log)
        running = [int(diary(m)[-1][2]) for m in ("it.hang", "it.hang.child", "it.slow")]
        c.stop()
        wait_for("the end of all programs", lambda: not any(alive(pid) for pid in running))
        check(not c.waiting(), "points wait after an orderly stop")
        what_was_printed_is_stored(d)
        check(set(values(d, "it.command")) == {42.0}, "a command of the configuration")
        figures(d)
        inside_the_daemon(inner)
    one.check()
    print("programs: %d points of programs came back" % len(diary()))


if __name__ == "__main__":
    sys.exit(main())
