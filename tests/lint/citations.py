#!/usr/bin/env python3
"""Citations: comments, scripts and documents cite only documents and files of the tree, and sections that exist. What OpenTSDB does is cited
as "docs/OPENTSDB.md, section N"; facts from elsewhere stand there first."""
import os
import re
import sys

import ctext

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
TEXTS = (".py", ".qt", ".cmake", ".sh", ".md")
MODULES = "base|collectors|demo|dist|docs|query|scripts|storage|tests|tsd"
PATH = re.compile(r"(?<![\w./-])(?:%s)/[\w./-]*\.(?:c|h|md|py|qt|cmake|sh|txt|yaml)\b(?![*{]|\.\w)" % MODULES)
DOCUMENT = re.compile(r"(?<![\w./*-])[A-Z][\w-]*\.md\b")
ELSEWHERE = re.compile(r"\b(?:shared/[\w.-]+|fact sheet|[a-z]+-and-[a-z]+ \d+\.\d+)")
SECTIONS = re.compile(r"docs/OPENTSDB\.md, sections? ((?:\d+(?:\.\d+)*(?:,? and |, | to )?)+)")
OWN = ("tests/lint/", "CHANGELOG.md")  # examples of what is refused; names of former versions


def pieces(path):
    """(offset, text) of what may cite: comments of C, whole scripts and documents."""
    text = ctext.read(path)
    if not path.endswith((".c", ".h")):
        yield 0, text
        return
    for match in COMMENT.finditer(text):
        if match.group(0).startswith("/"):
            yield match.start(), match.group(0)


def all_files():
    """Paths of the tree that are read, relative to the root."""
    found = ctext.files() + ctext.files(TEXTS)
    found += ["docs/" + n for n in os.listdir(os.path.join(ctext.ROOT, "docs")) if n.endswith(".md")]
    return sorted(set(found + ["README.md", "CONTRIBUTING.md"]))


def exists(path):
    """Is it in the tree?"""
    return os.path.exists(os.path.join(ctext.ROOT, path))


def problems_of(piece, known):
    """(offset, text) of all that is wrong in a piece."""
    for match in PATH.finditer(piece):
        if not exists(match.group(0)):
            yield match.start(), "there is no " + match.group(0)
    for match in DOCUMENT.finditer(piece):
        if not exists(match.group(0)) and not exists("docs/" + match.group(0)):
            yield match.start(), "there is no document " + match.group(0)
    for match in ELSEWHERE.finditer(piece):
        yield match.start(), "\"%s\" is not in the tree: cite docs/OPENTSDB.md, section N" % match.group(0)
    flat = re.sub(r"\s+(?:\*\s+)?", lambda m: " " * len(m.group(0)), piece)
    for match in SECTIONS.finditer(re.sub(r" +", " ", flat)):
        for number in re.findall(r"\d+(?:\.\d+)*", match.group(1)):
            if number not in known:
                yield max(piece.find("docs/OPENTSDB.md"), 0), "docs/OPENTSDB.md has no section " + number


def main():
    """All problems."""
    known = set()
    for heading in re.findall(r"(?m)^#+ ([\d., ]+)", ctext.read("docs/OPENTSDB.md")):
        known.update(re.findall(r"\d+(?:\.\d+)*", heading))
    problems = []
    for path in all_files():
        if path.startswith(OWN):
            continue
        for at, piece in pieces(path):
            for offset, text in problems_of(piece, known):
                line = ctext.read(path).count("\n", 0, at + offset) + 1
                problems.append("%s:%d: %s" % (path, line, text))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
