#!/usr/bin/env python3
"""Line commands: the first table of docs/PROTOCOL.md has a row for each of them (tsd_line_cmds, and put, which is read by itself), and no other."""
import re
import sys

import ctext

TABLE = "tsd/protocols/line/commands.c"
DOCUMENT = "docs/PROTOCOL.md"
ROW = re.compile(r"^\| `([a-z]+)[ `]", re.M)


def between(path, begin, end):
    """What stands between two texts, of which the first one must be there; None otherwise."""
    text = ctext.read(path)
    at = text.find(begin)
    if at < 0:
        return None
    return text[at + len(begin):text.find(end, at + len(begin))]


def main():
    code = between(TABLE, "tsd_line_cmds[] = {", "{.name = NULL")
    page = between(DOCUMENT, "## Line protocol\n", "\n#")
    if code is None or page is None:
        return ctext.finish("commands", ["%s: tsd_line_cmds or the section \"Line protocol\" of %s was not found" % (TABLE, DOCUMENT)])
    there = set(re.findall(r'\.name = "(\w+)"', code)) | {"put"}
    told = set(ROW.findall(page))
    problems = ["%s: the line command %s has no row in the first table" % (DOCUMENT, name) for name in sorted(there - told)]
    problems += ["%s: there is no line command %s (%s)" % (DOCUMENT, name, TABLE) for name in sorted(told - there)]
    return ctext.finish("commands", problems)


if __name__ == "__main__":
    sys.exit(main())
