#!/usr/bin/env python3
"""Calls of functions named in banned.txt, and notes nobody came back to."""
import os
import re
import sys

import ctext


def rules():
    """(pattern, where, instead, allowed file) from banned.txt."""
    found = []
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "banned.txt"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("#") or not line.strip():
                continue
            name, where, instead, *allowed = re.split(r"\s{2,}", line.strip())
            found.append((name, where, instead, allowed[0] if allowed else None))
    return found


def main():
    """All problems."""
    table = rules()
    by_name = {name: (where, instead, allowed) for name, where, instead, allowed in table}
    call = re.compile(r"(?<![\w.>])(" + "|".join(map(re.escape, by_name)) + r")\s*\(")
    problems = []
    for path in ctext.files():
        text = ctext.read(path)
        for at, line in enumerate(ctext.blank(text).split("\n"), 1):
            for name in call.findall(line):
                where, instead, allowed = by_name[name]
                if path == allowed or (where == "src" and path.startswith("tests/")):
                    continue
                problems.append(f"{path}:{at}: {name}() is not called here; use {instead}")
        for at, line in enumerate(text.split("\n"), 1):
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                problems.append(f"{path}:{at}: a note nobody came back to")
    return ctext.finish("banned", problems)


sys.exit(main())
