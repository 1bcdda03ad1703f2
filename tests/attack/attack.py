#!/usr/bin/env python3
"""Attack a real daemon within a memory limit, beside calm clients, and say whether anybody else noticed.

    attack.py [--seconds N] [--only NAME,...] [--third K|turn] [--memory-limit 512M] [--clients N] [--judge-times]
    attack.py --list

For each attack of attacks.py: a fresh daemon (memory_limit = 512M, inside a memory cgroup of 1 GiB where one can be made), data, a measurement
of the calm clients alone, the attack beside them, then the verdict:
  - the daemon lives, answers, ends by SIGTERM, and what was stored before is answered unchanged;
  - its resident memory (VmHWM, with its children's) stayed below memory_limit + 64 MB;
  - each calm request got a good answer; with --judge-times p99 is at most 5 times that before (but 100 ms are always allowed) and below 1 s;
  - refusals were counted under the names that the table says.
--third K runs every third attack, beginning with number K modulo 3; --third turn another third for each commit (what CI runs). Only addresses of this machine; each loop is bounded.
"""
import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "integration")]
import attacks  # noqa: E402
from tsdtest import Daemon  # noqa: E402

MB = 1 << 20
SPARE_BYTES = 64 * MB


def raise_files():
    """Attackers and calm clients need descriptors of their own."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


class Cage:
    """A memory cgroup of 1 GiB, if this machine lets us make one (cgroup v1 or v2)."""

    def __init__(self, n_bytes):
        self.path = None
        for top, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            path = "%s/tsd-attack-%d" % (top, os.getpid())
            try:
                os.mkdir(path)
                with open(path + "/" + limit, "w") as f:
                    f.write(str(n_bytes))
                self.path = path
                return
            except OSError:
                try:
                    os.rmdir(path)
                except OSError:
                    pass

    def add(self, pid):
        if self.path:
            with open(self.path + "/cgroup.procs", "w") as f:
                f.write(str(pid))

    def close(self):
        for _ in range(50):
            try:
                if self.path:
                    os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.1)


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return [int(x) for x in f.read().split()]
    except OSError:
        return []


def status_bytes(pid, field):
    try:
        with open("/proc/%d/status" % pid) as f:
            for line in f:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class Watch(threading.Thread):
    """The most resident memory of a daemon with its children."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.stop = pid, 0, threading.Event()

    def run(self):
        while not self.stop.wait(0.05):
            kids = sum(status_bytes(k, "VmRSS") for k in children(self.pid))
            self.peak = max(self.peak, status_bytes(self.pid, "VmRSS") + kids)

    def end(self):
        self.stop.set()
        self.join()
        return max(self.peak, status_bytes(self.pid, "VmHWM"))


def load(d):
    """What is there before: calm.m for the calm clients, attack.m for queries, long tag values for regular expressions."""
    n, points = attacks.LOADED["series"], attacks.LOADED["points"]
    for p in range(points):
        d.send("".join("put attack.m %d %d host=h%d cpu=c%d\n" % (attacks.T0 + p * 15, i + p, i // 4, i % 4) for i in range(n)))
    d.send("".join("put attack.m %d 1 long=%s%d\n" % (attacks.T0, "ab" * 60, i) for i in range(5000)))
    d.send("".join("put calm.m %d %d client=c%d\n" % (attacks.T0 + p * 60, p, c) for p in range(60) for c in range(10)))
    d.sync()


def calm(port, n, seconds):
    """n calm clients, connected."""
    p = subprocess.Popen([sys.executable, os.path.join(HERE, "calm.py"), str(port), str(n), str(seconds)], stdout=subprocess.PIPE, text=True)
    if p.stdout.readline() != "ready\n":
        sys.exit("attack: the calm clients could not connect")
    return p


def counters(d):
    out = {}
    for row in d.api("/api/stats"):
        tags = ",".join("%s=%s" % (k, v) for k, v in sorted(row["tags"].items()) if k != "host")
        for name in {row["metric"], row["metric"] + ("{" + tags + "}" if tags else "")}:
            out[name] = out.get(name, 0) + float(row["value"])
    return out


def known_answer(d):
    return d.http(attacks.QUERY + "sum:calm.m%7Bclient=c3%7D")


def attacker(name, port, seconds):
    raise_files()
    try:
        attacks.TABLE[name][0](attacks.Attack(port, seconds))
    except OSError as e:
        print("    attacker ended: %s" % e)
    os._exit(0)  # threads that hang in a socket do not matter


def attack(o, name, d):
    p = multiprocessing.Process(target=attacker, args=(name, d.port, o.seconds), daemon=True)
    p.start()
    p.join(o.seconds + 20)
    p.kill()


def count(o, name, d, before):
    """How much the counters of the attack have grown, None where there are none. A short attack on a slow machine goes on until one has."""
    counts = attacks.TABLE[name][1]
    if not counts:
        return None
    for _ in range(10):
        if d.proc.poll() is not None:
            return None
        now = counters(d)
        grown = {c: now.get(c, 0) - before.get(c, 0) for c in counts}
        if any(grown.values()) or o.seconds >= 60:
            break
        attack(o, name, d)
    return grown


def judge(o, d, before, during, peak, grown):
    """Sentences that say what is wrong."""
    wrong = []
    limit = o.memory_bytes + SPARE_BYTES
    if d.proc.poll() is not None:
        return ["the daemon ended with %d: %s" % (d.proc.returncode, open(d.log.name, errors="replace").read()[-600:])]
    if peak > limit:
        wrong.append("resident memory reached %d MB, %d are allowed" % (peak // MB, limit // MB))
    if not during["n"] or during["failed"] > o.tolerate * (during["n"] + during["failed"]):
        wrong.append("%d of %d calm requests failed: %s" % (during["failed"], during["n"] + during["failed"], during["errors"]))
    if o.judge_times and during["p99"] > min(1000, max(100, 5 * before["p99"])):
        wrong.append("p99 of calm clients went from %.1f to %.1f ms" % (before["p99"], during["p99"]))
    if grown is not None and not any(grown.values()):
        wrong.append("none of these counted a refusal: %s" % ", ".join(grown))
    return wrong


def run(o, name):
    cage = Cage(1 << 30)
    keys = {"memory_limit": "%dM" % (o.memory_bytes // MB)} if o.memory_key else {}
    if o.seconds < 60:
        keys["new_series_per_min"] = 20000  # the default is reached within a minute
    d = Daemon(workers=2, query_threads=2, **keys)
    try:
        d.start()
        cage.add(d.proc.pid)
        load(d)
        answer, stats = known_answer(d), counters(d)
        before = json.loads(calm(d.port, o.clients, min(o.seconds, 5)).communicate()[0])
        watch = Watch(d.proc.pid)
        watch.start()
        clients = calm(d.port, o.clients, o.seconds + 1)
        attack(o, name, d)
        during = json.loads(clients.communicate()[0])
        peak = watch.end()
        grown = count(o, name, d, stats)
        wrong = judge(o, d, before, during, peak, grown)
        if d.proc.poll() is None and known_answer(d) != answer:
            wrong.append("what was stored before is answered differently")
        if d.proc.poll() is None:
            try:
                d.stop()
            except subprocess.TimeoutExpired:
                wrong.append("SIGTERM did not end the daemon")
    finally:
        if d.proc and d.proc.poll() is None:
            d.kill()
        cage.close()
    print("%-24s p99 %7.1f -> %7.1f ms  max %7.1f ms  failed %d/%d  peak %4d MB  %s%s" % (
        name, before["p99"], during["p99"], during["max"], during["failed"], during["failed"] + during["n"], peak // MB,
        "ok" if not wrong else "WRONG", "" if not grown else "  " + ", ".join("%s +%d" % kv for kv in grown.items() if kv[1])), flush=True)
    for w in wrong:
        print("    " + w, flush=True)
    return not wrong


def turn():
    """Number of commits, so that each one has another third; without git the day."""
    try:
        p = subprocess.run(["git", "-C", HERE, "rev-list", "--count", "HEAD"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return int(p.stdout)
    except (FileNotFoundError, ValueError):
        return int(time.time() // 86400)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--seconds", type=float, default=60)
    ap.add_argument("--only", default="")
    ap.add_argument("--third", help="a number, or turn: another one for each commit")
    ap.add_argument("--clients", type=int, default=100)
    ap.add_argument("--memory-limit", default="512M")
    ap.add_argument("--no-memory-key", dest="memory_key", action="store_false", help="for versions without memory_limit")
    ap.add_argument("--judge-times", action="store_true")
    ap.add_argument("--tolerate", type=float, default=0.0, help="share of calm requests that may fail")
    ap.add_argument("--list", action="store_true")
    o = ap.parse_args()
    o.memory_bytes = int(o.memory_limit.rstrip("M")) * MB
    if o.list:
        print("\n".join(attacks.TABLE))
        return 0
    names = [n for n in o.only.split(",") if n] or list(attacks.TABLE)
    unknown = [n for n in names if n not in attacks.TABLE]
    if unknown:
        sys.exit("attack: unknown: %s; --list names all" % ", ".join(unknown))
    if o.third is not None:
        third = turn() if o.third == "turn" else int(o.third)
        names = [n for i, n in enumerate(names) if i % 3 == third % 3]
    raise_files()
    failed = [n for n in names if not run(o, n)]
    print("%d attacks, %d went wrong%s" % (len(names), len(failed), ": " + ", ".join(failed) if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
