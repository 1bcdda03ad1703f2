"""Reading C text for the checks: files of the tree, comments and literals blanked out."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ["base", "storage", "query", "tsd", "collectors", "tests"]
TOKEN = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def files(suffixes=(".c", ".h"), rooms=ROOMS):
    """Paths below the rooms, relative to the root, sorted."""
    found = []
    for room in rooms:
        for folder, _, names in os.walk(os.path.join(ROOT, room)):
            found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names if n.endswith(suffixes)]
    return sorted(found)


def read(path):
    """Text of a file of the tree."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def blank(text, keep_strings=False):
    """The text with comments (and contents of literals) replaced by blanks; lines stay where they are."""

    def one(match):
        piece = match.group(0)
        if piece[0] != "/" and keep_strings:
            return piece
        if piece[0] != "/":
            return piece[0] + re.sub(r"[^\n]", " ", piece[1:-1]) + piece[-1]
        return re.sub(r"[^\n]", " ", piece)

    return TOKEN.sub(one, text)


def finish(name, problems):
    """Print problems and return the exit code."""
    for p in problems:
        print(p)
    if problems:
        print(f"{name}: {len(problems)} problem{'s' if len(problems) > 1 else ''}")
    return 1 if problems else 0
