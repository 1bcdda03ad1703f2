#!/usr/bin/env python3
"""Which module may include which. A module is a folder with its files (folders below it are modules of their own). The table
names every edge; an edge that is missing in it, one that nobody uses, and a cycle are errors. The libraries that CMakeLists.txt links
must agree with it: a library sees, directly or through others, those of the modules that its own may include, and none is linked in vain."""
import os
import re
import sys

import ctext

# Module -> the modules whose headers it may include.
MAY = {
    "base": "",
    # storage: names and series, columns, the embedded engine
    "storage/points": "base",
    "storage/codecs": "base storage/points",
    "storage/catalog": "base storage/points",
    "storage/hbase/thrift": "base",
    "storage/engine/log": "base storage/points",
    "storage/engine/memory": "base storage/points",
    "storage/engine/files": "base storage/points storage/codecs",
    "storage/engine/merge": "base storage/points storage/engine/memory storage/engine/files",
    "storage/engine/check": "base storage/codecs storage/engine/files",
    "storage/engine/bulk": "base storage/points storage/engine/files storage/engine/merge",
    "storage/engine": "base storage/points storage/codecs storage/engine/log storage/engine/memory storage/engine/files "
                      "storage/engine/merge storage/engine/check storage/engine/bulk",
    "storage": "base storage/points storage/catalog storage/engine storage/engine/log storage/engine/files storage/engine/merge storage/engine/check",
    "storage/remote": "base storage/points",
    "storage/hbase": "base storage/points",
    "storage/hbase/remote": "base storage/points storage/hbase storage/hbase/thrift",
    # query: the text of queries, and what runs them
    "query": "base storage storage/points",
    "query/aggregators": "base query",
    "query/filters": "base query",
    "query/breakdowns": "base query",
    "query/language": "base query query/aggregators query/filters query/breakdowns",
    "query/execution": "base storage storage/points query query/aggregators query/filters query/breakdowns query/language",
    "query/expressions": "base query query/aggregators query/filters query/language",
    "query/functions": "base query query/expressions",
    # collectors: what hosts, programs and web logs tell, and the way to a daemon
    "collectors/core": "base",
    "collectors/host": "base collectors/core",
    "collectors/programs": "base collectors/core",
    "collectors/weblog": "base collectors/core",
    "collectors": "base collectors/core",
    # tsd: the daemon and its commands
    "tsd/ingest": "base storage query/execution query/aggregators",
    "tsd/meta": "base storage storage/points query query/execution tsd/ingest query/aggregators",
    "tsd/format": "base storage storage/points query query/aggregators query/execution query/expressions tsd/ingest tsd/meta query/filters",
    "tsd/daemon": "base storage storage/hbase storage/hbase/remote query tsd/ingest",
    "tsd/net": "base tsd/ingest tsd/daemon",
    "tsd/page": "base",
    "tsd/protocols/line": "base tsd/ingest tsd/daemon tsd/net",
    "tsd/protocols/http": "base storage query query/execution query/filters "
                          "query/functions query/language tsd/ingest tsd/meta tsd/format tsd/daemon tsd/net tsd/page",
    "tsd": "base query/execution collectors tsd/meta tsd/daemon tsd/net tsd/protocols/line tsd/protocols/http",
    "tsd/inputs": "base storage tsd/protocols/http",
    "tsd/commands": "base storage storage/points storage/hbase storage/hbase/remote query collectors collectors/weblog tsd tsd/ingest tsd/meta tsd/format tsd/daemon "
                    "tsd/protocols/http tsd/protocols/line tsd/inputs query/filters query/breakdowns query/aggregators query/execution",
    "main": "base collectors tsd tsd/commands tsd/daemon",
}
# Files that belong to another module than that of their folder: neutral types and contracts that store, engine and catalog share.
FILES = {
    "storage/batch.h": "storage/points",
    "storage/slots.h": "storage/points",
    "storage/keep.h": "storage/points",
    "storage/keep.c": "storage/points",
    "storage/floors.h": "storage/points",
    "storage/quota.h": "storage/points",
    "storage/quota.c": "storage/points",
    "storage/day.h": "storage/points",
    "storage/floors.c": "storage/points",
    "storage/opts.h": "storage/points",
    "storage/opts.c": "storage/points",
    "storage/writer.h": "storage/points",
    "storage/scan.h": "storage/points",
    "storage/total_scan.h": "storage/points",
    "storage/total_run.h": "storage/points",
    "storage/bulk.h": "storage/points",
    "storage/sizes.h": "storage/points",
    "storage/compaction.h": "storage/points",
    "storage/refusals.h": "storage/points",
    "storage/point.h": "storage/points",
    "storage/point.c": "storage/points",
    "storage/internal.h": "storage/points",
    "storage/internal.c": "storage/points",
    "storage/versions.h": "storage/points",
    "storage/versions.c": "storage/points",
    "storage/remote.h": "storage/points",
    "storage/remote_cell.h": "storage/points",
    "storage/remote_cell.c": "storage/points",
    "tsd/main.c": "main",
}
PREFIXES = {"storage/reclog": "storage/points", "storage/readonly": "storage/points"}
# What is public of a module for those outside of its top folder.
PUBLIC = {
    "storage": {"storage/store.h", "storage/max_bytes.h", "storage/total.h", "storage/total_scan.h", "storage/total_run.h", "storage/batch.h", "storage/point.h", "storage/scan.h", "storage/day.h", "storage/remote.h", "storage/remote_cell.h", "storage/internal.h", "storage/aged.h", "storage/versioned.h", "storage/versions.h", "storage/cells_shared.h",
                "storage/hbase/remote/remote.h", "storage/hbase/remote/tables.h", "storage/hbase/remote/check.h", "storage/hbase/remote/metadata.h", "storage/hbase/remote/branches.h", "storage/hbase/limits.h", "storage/hbase/rowkey.h"},
    "collectors": {"collectors/collect.h", "collectors/weblog/weblog_import.h"},
}
# Libraries that are linked for what they define, not for a header: members of tables.
ONLY_LINKED = {("collectors", "collectors/host"), ("collectors", "collectors/programs"), ("collectors", "collectors/weblog")}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def module_of(path):
    """The module that a file belongs to."""
    for prefix, module in PREFIXES.items():
        if path.startswith(prefix):
            return module
    return FILES.get(path, os.path.dirname(path))


def check(path, used):
    """Problems of one file; the edges it uses are added to `used`."""
    module, folder = module_of(path), os.path.dirname(path)
    tests = path.startswith("tests/")
    problems = []
    if not tests and module not in MAY:
        return [f"{path}: {module}/ is no module of {os.path.basename(__file__)}"]
    includes = INCLUDE.findall(ctext.blank(ctext.read(path), keep_strings=True))
    for inc in includes:
        where = f'{path}: includes "{inc}"'
        if tests and "/" not in inc and os.path.exists(os.path.join(ctext.ROOT, folder, inc)):
            continue  # helpers of the tests beside it
        if not os.path.exists(os.path.join(ctext.ROOT, inc)):
            problems.append(f"{where}, which is no file counted from the root")
            continue
        if tests:
            continue
        other = module_of(inc)
        if other != module:
            used.add((module, other))
            if other not in MAY[module].split():
                problems.append(f"{where}, but {module}/ may use only {MAY[module]}")
        top, own = inc.split("/")[0], path.split("/")[0]
        if top != own and top in PUBLIC and inc not in PUBLIC[top]:
            problems.append(f"{where}; public are {', '.join(sorted(PUBLIC[top]))}")
        if inc.endswith("_int.h") and os.path.dirname(inc) != folder:
            problems.append(f"{where}, which is private to {os.path.dirname(inc)}/")
    own = path[:-2] + ".h"
    if path.endswith(".c") and not tests and os.path.exists(os.path.join(ctext.ROOT, own)):
        if not includes or includes[0] != own:
            problems.append(f"{path}: its own header comes first")
    return problems


def cycle():
    """A problem if the table has a cycle."""
    done = set()
    while len(done) < len(MAY):
        free = [m for m in MAY if m not in done and set(MAY[m].split()) <= done]
        if not free:
            return [f"a cycle among {', '.join(sorted(set(MAY) - done))}"]
        done.update(free)
    return []


def libraries(text):
    """{library: libraries of ours that CMakeLists.txt links to it directly}, those of folders by the names of their modules."""
    names = {"points": "storage/points", "codecs": "storage/codecs", "catalog": "storage/catalog", "engine": "storage/engine", "hbase": "storage/hbase",
             "query_common": "query", "tsd_server": "tsd", "query": "query (all)", "tsdlib": "tsd (all)", "tsd": "main"}
    found = {}
    names["hbase_thrift"] = "storage/hbase/thrift"
    names["hbase_remote"] = "storage/hbase/remote"
    rows = re.findall(r'^tsd_(?:library|module)\((\S+)((?:\s+"[^"]*")?)([^)]*)\)', text, re.M)
    rows += [(name, "", libs) for name, libs in re.findall(r"^ *target_link_libraries\((tsd) PRIVATE([^)]*)\)", text, re.M)]
    for name, sources, libs in rows:
        found[names.get(name, name) if sources or name == "tsd" else name] = libs.split()
    names.update({folder.replace("/", "_"): folder for folder in found if "/" in folder})
    return {name: {names.get(lib, lib) for lib in libs if names.get(lib, lib) in found} for name, libs in found.items()}


def below(links, starts):
    """The libraries `starts` and all that they link."""
    seen, todo = set(), list(starts)
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += links.get(one, ())
    return seen


def check_links(links):
    """Problems of the libraries that are linked."""
    problems = []
    for module in MAY:
        if module not in links:
            problems.append(f"CMakeLists.txt: {module}/ is no library of it")
            continue
        wanted = set(MAY[module].split())
        problems += [f"CMakeLists.txt: {module}/ may include {o}/, which is not linked to it" for o in sorted(wanted - below(links, links[module]))]
        for lib in sorted(links[module]):
            rest = below(links, links[module] - {lib})
            if lib in rest:
                problems.append(f"CMakeLists.txt: {lib} is linked to {module}/ twice, directly and through another library")
            elif not wanted & (below(links, [lib]) - rest) and (module, lib) not in ONLY_LINKED:
                problems.append(f"CMakeLists.txt: {lib} is linked to {module}/, which includes nothing of it")
    return problems


edges = set()
found = [p for f in ctext.files() for p in check(f, edges)] + cycle()
found += check_links(libraries(ctext.read("CMakeLists.txt")))
found += [f"{m}/ -> {o}/ stands in the table and is not used" for m in MAY for o in MAY[m].split() if (m, o) not in edges]
sys.exit(ctext.finish("layers", found))
