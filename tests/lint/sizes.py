#!/usr/bin/env python3
"""Files of at most 600 lines, functions of at most 60; --table prints the modules and lines of each room."""
import re
import sys

import ctext

MAX_FILE, MAX_FUNCTION = 600, 60


def functions(text):
    """(line, length, name) of each function: a body opens with a brace alone on its line, at the margin."""
    lines = ctext.blank(text).split("\n")
    found, start = [], None
    for i, line in enumerate(lines):
        if line.rstrip() == "{" and start is None:
            start = i
        elif line.startswith("}") and start is not None:
            head = " ".join(lines[max(0, start - 6):start])
            names = re.findall(r"(\w+)\s*\(", head.rsplit(";", 1)[-1].rsplit("}", 1)[-1])
            found.append((start + 1, i - start + 1, names[0] if names else "?"))
            start = None
    return found


def table():
    """Lines and modules (a .c and .h pair counts once) of each room."""
    for room in ctext.ROOMS:
        paths = ctext.files(rooms=[room])
        n_lines = sum(ctext.read(p).count("\n") for p in paths)
        print(f"{room:11} {len({p[:-2] for p in paths}):4} modules {n_lines:7} lines")


def main():
    """All problems."""
    if "--table" in sys.argv:
        table()
        return 0
    problems = []
    for path in ctext.files():
        text = ctext.read(path)
        n = text.count("\n")
        if n > MAX_FILE:
            problems.append(f"{path}: {n} lines, {MAX_FILE} at most")
        problems += [f"{path}:{at}: {name} has {n} lines, {MAX_FUNCTION} at most"
                     for at, n, name in functions(text) if n > MAX_FUNCTION]
    return ctext.finish("sizes", problems)


sys.exit(main())
