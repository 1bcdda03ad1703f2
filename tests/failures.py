#!/usr/bin/env python3
"""The end of what each failed test of a run printed.   tests/failures.py [--lines 40] TESTS.XML

A run prints it in the middle, between the lines of hundreds of tests; `./check` repeats it here as the last thing that it says of a preset.
"""
import argparse
import xml.etree.ElementTree as tree


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("--lines", type=int, default=40)
    ap.add_argument("file", metavar="TESTS.XML", help="what ctest --output-junit wrote")
    a = ap.parse_args()
    for case in tree.parse(a.file).iter("testcase"):
        if case.get("status") == "fail":
            print("-- %s failed after %s s:" % (case.get("name"), case.get("time")))
            for line in (case.findtext("system-out") or "").splitlines()[-a.lines:]:
                print("   " + line[:400])


if __name__ == "__main__":
    main()
