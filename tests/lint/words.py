#!/usr/bin/env python3
"""Words in comments and documents that words.txt bans, each with the term to use instead. Folders that are not in DONE have not been
read for them yet."""
import os
import re
import sys

import ctext

HERE = os.path.dirname(os.path.abspath(__file__))
DONE = ("base", "storage", "query", "collectors", "tsd")
DOCS = ("README.md", "CONTRIBUTING.md", "docs")
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def rules():
    """[(pattern, term to use)] from words.txt; a blank matches line ends too, with the star that begins a line of a comment."""
    found = []
    with open(os.path.join(HERE, "words.txt"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("#") or not line.strip():
                continue
            word, instead = re.split(r"\s{2,}", line.strip(), maxsplit=1)
            found.append((re.compile(word.replace(" ", r"\s+(?:\*\s+)?"), re.I), instead))
    return found


def texts(root):
    """(path, offset of a piece, the piece) of all that is read: comments of sources, whole documents."""
    for path in ctext.files():
        name = os.path.relpath(path, root)
        if name.split(os.sep)[0] in DONE:
            for match in COMMENT.finditer(ctext.read(path)):
                if match.group(0).startswith("/"):
                    yield path, match.start(), match.group(0)
    for name in DOCS:
        top = os.path.join(root, name)
        names = [os.path.join(top, n) for n in sorted(os.listdir(top))] if os.path.isdir(top) else [top]
        for path in names:
            if path.endswith(".md"):
                yield path, 0, ctext.read(path)


def main():
    """All problems."""
    root = os.path.dirname(os.path.dirname(HERE))
    table = rules()
    problems = []
    for path, at, piece in texts(root):
        for pattern, instead in table:
            for match in pattern.finditer(piece):
                line = ctext.read(path).count("\n", 0, at + match.start()) + 1
                word = " ".join(match.group(0).replace("*", " ").split())
                problems.append("%s:%d: \"%s\": use %s" % (os.path.relpath(path, root), line, word, instead))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
