#!/usr/bin/env python3
"""Does docs/openapi.yaml describe the rows of tsd/protocols/http/routes.c, all of them and nothing else, and do its references lead somewhere?

Reads both as text, by their layout, so that it needs the standard library alone. Whether answers of a daemon are as described is for
tests/clients/schema.sh.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
METHODS = {"TSD_GET": "get", "TSD_POST": "post", "TSD_PUT": "put", "TSD_DELETE": "delete"}


def routes(text):
    """{path: set of methods, or None for those that look at the method themselves}; a star is any last word."""
    found = {}
    for path, row in re.findall(r'^    \{"([^"]*)",(.*?)\},$', text, re.M | re.S):
        names = set(re.findall(r"TSD_[A-Z]+", " ".join(re.findall(r"\.(?:reads|changes|admin) = ([A-Z_|\s]+)", row))))
        found["/" + path.replace("*", "{}")] = None if "TSD_OTHER" in names else {METHODS[m] for m in names}
    return found


def described(text):
    """{path: set of methods}, names of last words left out."""
    found, path, section = {}, None, ""
    for line in text.splitlines():
        if re.match(r"\w", line):
            section = line
        elif section == "paths:" and re.match(r"  /", line):
            path = re.sub(r"\{\w+\}", "{}", line.strip().rstrip(":"))
            found[path] = set()
        elif section == "paths:" and (m := re.match(r"    (\w+):", line)):
            found[path].add(m.group(1))
    return found


def components(text):
    """{"#/components/KIND/NAME"}."""
    found, kind, inside = set(), None, False
    for line in text.splitlines():
        if re.match(r"\w", line):
            inside = line == "components:"
        elif inside and (m := re.match(r"  (\w+):$", line)):
            kind = m.group(1)
        elif inside and (m := re.match(r"    (\w+):", line)):
            found.add("#/components/%s/%s" % (kind, m.group(1)))
    return found


def main():
    with open(ROOT + "/tsd/protocols/http/routes.c", encoding="utf-8") as f:
        rows = routes(f.read())
    with open(ROOT + "/docs/openapi.yaml", encoding="utf-8") as f:
        text = f.read()
    paths, parts, bad = described(text), components(text), []
    used = set(re.findall(r"'(#/components/\w+/\w+)'", text))
    bad += ["%s is in routes.c and not in openapi.yaml" % p for p in sorted(set(rows) - set(paths))]
    bad += ["%s is in openapi.yaml and not in routes.c" % p for p in sorted(set(paths) - set(rows))]
    for path in sorted(set(rows) & set(paths)):
        if rows[path] is None:
            bad += ["%s: nothing is described" % path] * (not paths[path])
        elif rows[path] != paths[path]:
            bad.append("%s: %s in routes.c, %s in openapi.yaml" % (path, sorted(rows[path]), sorted(paths[path])))
    bad += ["%s is referred to and not there" % r for r in sorted(used - parts)]
    bad += ["%s is there and never referred to" % r for r in sorted(parts - used)]
    if len(rows) < 20:
        bad.append("only %d rows were found in routes.c: its layout changed" % len(rows))
    print("\n".join(bad) or "%d paths, %d parts" % (len(paths), len(parts)))
    return 1 if bad else 0


sys.exit(main())
