#!/usr/bin/env python3
"""Increments a second that a daemon takes, with and without ids: 16 connections, 10,000 counters. Counts the daemon's processor time, so that the senders and other
programs of the machine do not matter: increments for two seconds of it are what two cores take in one.

usage: incr_rate.py [INCREMENTS]"""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
from tsdtest import Daemon, together  # noqa: E402

T0, CLIENTS, COUNTERS = 1793620800, 16, 10000
INCREMENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 8000000


def lines(client, word, n):
    """The lines of a client, in the order of its counters, as programs send them."""
    return "".join("%shits.of.pages %d 1 domain=example.org page=p%d\n" % (word % (i + 1) if word else "incr ", T0 + i // COUNTERS, (i + client * 7) % COUNTERS)
                   for i in range(n)).encode()


def send(d, data):
    s = d.connect()
    s.sendall(data + b"sync\n")
    said = s.makefile("rb").readline()
    s.close()
    if not said.startswith(b"ok "):
        sys.exit("not confirmed: %r" % said)


def cpu_s(d):
    with open("/proc/%d/stat" % d.proc.pid) as f:
        fields = f.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(name, words):
    with Daemon(workers=2) as d:
        data = [lines(i, words[i], INCREMENTS // CLIENTS) for i in range(CLIENTS)]
        before, began = cpu_s(d), time.monotonic()
        together(*[(send, d, part) for part in data])
        used, wall = cpu_s(d) - before, time.monotonic() - began
        print("%-12s increments=%d daemon_cpu_s=%.2f wall_s=%.2f ns_each=%.0f millions_per_s_on_2_cores=%.2f"
              % (name, INCREMENTS, used, wall, used / INCREMENTS * 1e9, 2 * INCREMENTS / used / 1e6), flush=True)


measure("without ids", [""] * CLIENTS)
measure("with ids", ["incr! %d-%x " % (time.time(), i + 1) + "%d " for i in range(CLIENTS)])
