#!/usr/bin/env python3
"""Who may include whom: base <- storage <- query <- tsd; collectors uses base alone, tsd sees its door; inside storage, codecs and engine
do not know the catalog and the catalog does not know the engine."""
import os
import re
import sys

import ctext

MAY = {
    "base": {"base"},
    "storage": {"base", "storage"},
    "query": {"base", "storage", "query"},
    "tsd": {"base", "storage", "query", "collectors", "tsd"},
    "collectors": {"base", "collectors"},
    "tests": {"base", "storage", "query", "tsd", "collectors", "tests"},
}
# Folder -> folders it must not include.
NEVER = {
    "storage/codecs": ["storage/catalog/", "storage/engine/"],
    "storage/engine": ["storage/catalog/"],
    "storage/catalog": ["storage/engine/", "storage/codecs/"],
}
# The door of storage: what query and tsd may include of it.
DOOR = {"storage/store.h", "storage/batch.h", "storage/point.h"}
# What tsd may include of collectors.
COLLECTORS_DOOR = {"collectors/collect.h", "collectors/weblog_import.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def check(path):
    """Problems of one file."""
    room, folder = path.split("/")[0], os.path.dirname(path)
    problems = []
    includes = INCLUDE.findall(ctext.blank(ctext.read(path), keep_strings=True))
    for inc in includes:
        where = f"{path}: includes \"{inc}\""
        if room == "tests" and "/" not in inc and os.path.exists(os.path.join(ctext.ROOT, folder, inc)):
            continue  # helpers of the tests beside it
        if not os.path.exists(os.path.join(ctext.ROOT, inc)):
            problems.append(f"{where}, which is no file counted from the root")
            continue
        if inc.split("/")[0] not in MAY[room]:
            problems.append(f"{where}, but {room}/ may use only {', '.join(sorted(MAY[room]))}")
        if any(inc.startswith(p) for p in NEVER.get(folder, [])):
            problems.append(f"{where}, which {folder}/ must not know")
        if room in ("query", "tsd") and inc.startswith("storage/") and inc not in DOOR:
            problems.append(f"{where}; storage's door is {', '.join(sorted(DOOR))}")
        if room == "tsd" and inc.startswith("collectors/") and inc not in COLLECTORS_DOOR:
            problems.append(f"{where}; the door of collectors is {', '.join(sorted(COLLECTORS_DOOR))}")
        if inc.endswith("_int.h") and room != "tests" and os.path.dirname(inc) != folder:
            problems.append(f"{where}, which is private to {os.path.dirname(inc)}/")
    own = path[:-2] + ".h"
    if path.endswith(".c") and room != "tests" and os.path.exists(os.path.join(ctext.ROOT, own)):
        if not includes or includes[0] != own:
            problems.append(f"{path}: its own header comes first")
    return problems


sys.exit(ctext.finish("layers", [p for f in ctext.files() for p in check(f)]))
