#!/usr/bin/env python3
"""Timed waits follow the monotonic clock: a step of the wall clock would delay them, or end all of them at once.

A file that calls pthread_cond_timedwait must take its time from CLOCK_MONOTONIC, and each condition that is waited for in this way
must be made with attributes (pthread_condattr_setclock).
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = {p: p.read_text() for d in ("base", "storage", "query", "tsd", "collectors") for p in sorted((ROOT / d).rglob("*.c"))}
MADE = re.findall(r"pthread_cond_init\(&[\w>.-]*?(\w+), ([^)]+)\)", "\n".join(FILES.values()))
bad = 0
for path, text in FILES.items():
    waits = re.findall(r"pthread_cond_timedwait\(&[\w>.-]*?(\w+),", text)
    name = path.relative_to(ROOT)
    if waits and ("CLOCK_MONOTONIC" not in text or "CLOCK_REALTIME" in text):
        print(f"{name}: a timed wait must take its time from CLOCK_MONOTONIC")
        bad += 1
    for cond in waits:
        clocks = [attr for made, attr in MADE if made == cond]
        if not clocks or "NULL" in clocks:
            print(f"{name}: condition {cond} is made without pthread_condattr_setclock")
            bad += 1
if bad:
    print(f"waits: {bad} problem{'s' if bad > 1 else ''}")
sys.exit(bad > 0)
