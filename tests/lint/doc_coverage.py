#!/usr/bin/env python3
"""Every file says on top what it is for; every function declared in a header has a comment above it, alone or with the
declarations right above it. --table prints the share of each room."""
import re
import sys

import ctext

DECL = re.compile(r"^(?!static|typedef|#|struct \w+;|enum|return|\s)[A-Za-z_][\w\s\*]*?\b(\w+)\(", re.M)


def undocumented(text):
    """(declared, [(line, name) without a comment]) of a header."""
    lines = text.split("\n")
    code = ctext.blank(text).split("\n")
    declared, bare = 0, []
    covered = in_comment = in_decl = False
    for i, (raw, line) in enumerate(zip(lines, code)):
        if in_comment or "/*" in raw:
            covered = covered or "/*" in raw or in_comment
            in_comment = "*/" not in raw[raw.rfind("/*") if "/*" in raw else 0:]
        if in_decl:
            in_decl = ";" not in line and "{" not in line
            continue
        if not raw.strip():
            covered = False
            continue
        match = DECL.match(line)
        if not match:
            if line.strip() and not line.startswith((" ", "}", "#", "{")):
                covered = covered and ("/*" in raw or line.rstrip().endswith("};"))
            continue
        declared += 1
        if not covered:
            bare.append((i + 1, match.group(1)))
        in_decl = ";" not in line and "{" not in line
    return declared, bare


def main():
    """All problems."""
    problems, share = [], {}
    for path in ctext.files():
        text, name = ctext.read(path), path.split("/")[-1]
        if not re.match(r"/\*\n \* (%s|%s)\b.* - " % (re.escape(name), re.escape(path)), text):
            problems.append(f"{path}:1: begins with a comment \"{name} - what it is for\"")
        if path.endswith(".h"):
            declared, bare = undocumented(text)
            problems += [f"{path}:{at}: {fn} has no comment" for at, fn in bare]
            room = share.setdefault(path.split("/")[0], [0, 0])
            room[0] += declared
            room[1] += declared - len(bare)
    if "--table" in sys.argv:
        for room, (declared, documented) in share.items():
            print(f"{room:11} {documented} of {declared} declarations documented")
        return 0
    return ctext.finish("doc_coverage", problems)


sys.exit(main())
