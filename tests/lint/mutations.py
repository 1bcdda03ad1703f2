#!/usr/bin/env python3
"""Each mutation of tests/sim/mutations/ still applies: the lines that it replaces are in the file that it names, once.

A patch that does not apply breaks nothing, so nobody would know that its promise is no longer tested until somebody runs
tests/sim/mutate.py, which takes hours.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
bad = 0


def hunks(text):
    """(file, the lines before the change) of each hunk."""
    path, old = None, None
    for line in text.split("\n"):
        if line.startswith(("--- ", "diff ", "index ", "@@", "+++ ")):
            if old:
                yield path, "".join(old)
            old = [] if line.startswith("@@") else None
            path = line[6:] if line.startswith("+++ ") else path
        elif old is not None and line[:1] in (" ", "-"):
            old.append(line[1:] + "\n")
    if old:
        yield path, "".join(old)


for patch in sorted((ROOT / "tests/sim/mutations").glob("*.patch")):
    found = list(hunks(patch.read_text()))
    for path, old in found:
        n = (ROOT / path).read_text().count(old) if (ROOT / path).is_file() else 0
        if n != 1:
            print(f"{patch.relative_to(ROOT)}: {path} has its lines {n} times: write it anew for the present code")
            bad += 1
    if not found:
        print(f"{patch.relative_to(ROOT)}: no change in it")
        bad += 1
if bad:
    print(f"mutations: {bad} problem{'s' if bad > 1 else ''}")
sys.exit(bad > 0)
