#!/usr/bin/env python3
"""Each member of the lists of query/ and tsd/format/ stands in the table of its section of docs/QUERY.md, in the first column; each form of
answers also in docs/openapi.yaml. Formats of import stand in docs/PROTOCOL.md. Each of them has an example in docs/EXAMPLES.md, in the section of the same name."""
import re
import sys

import ctext

# Kind, file with the list, what a member looks like there, heading in docs/QUERY.md.
ROW = r"^ +ROW\((\w+)\)"
KINDS = (
    ("aggregator", "query/aggregators/table.c", r'^ +\{?(?:ROW|PCT|EP)\("(\w+)"', "Aggregators"),
    ("filter", "query/filters/table.c", ROW, "Filters"),
    ("function", "query/functions/table.c", ROW, "Functions"),
    ("breakdown", "query/breakdowns/breakdown.h", ROW, "Totals"),
    ("form of answers", "tsd/format/out.h", r'^ +ROW\(\w+, "([\w-]+)"\)', "Forms of answers"),
    ("format of import", "tsd/inputs/table.c", r'^ +\{"(\w+)",', "Formats of import"),
)


def first_cells(text, heading):
    """The words in the first column of the tables below a heading, down to the next one of its level."""
    match = re.search(r"^(#+) %s\n(.*?)(?=^\1 |\Z)" % re.escape(heading), text, re.M | re.S)
    rows = re.findall(r"^\|((?:[^|\\\n]|\\.)*)\|", match.group(2), re.M) if match else []
    return {word for row in rows for word in re.findall(r"[\w-]+", row)}


def examples(heading):
    """The words of the commands in a section of docs/EXAMPLES.md."""
    match = re.search(r"^## %s\n(.*?)(?=^## |\Z)" % re.escape(heading), ctext.read("docs/EXAMPLES.md"), re.M | re.S)
    lines = re.findall(r"^    (?:tsd|for|curl|printf) .*$", match.group(1), re.M) if match else []
    return {word for line in lines for word in re.findall(r"[\w-]+", line)}


def main():
    """All problems."""
    problems = []
    for kind, path, pattern, heading in KINDS:
        page = "docs/PROTOCOL.md" if kind == "format of import" else "docs/QUERY.md"
        names = re.findall(pattern, ctext.blank(ctext.read(path), keep_strings=True), re.M)
        if not names:
            problems.append(f"{path}: has no list of the kind {kind} as this script knows it")
        known, shown = first_cells(ctext.read(page), heading), examples(heading)
        for name in names:
            if name not in shown:
                problems.append(f'docs/EXAMPLES.md: the {kind} {name} has no example in "{heading}"')
            if re.sub(r"^ep\d+", "epNN", name) not in known:  # these stand there as epNNr3
                problems.append(f'{page}: the {kind} {name} is missing in the table of "{heading}"')
        if kind == "form of answers":
            described = re.search(r"format: \{name: format, .*enum: \[([^]]*)\]", ctext.read("docs/openapi.yaml"))
            missing = set(names) - set(described.group(1).split(", ") if described else ())
            problems += [f"docs/openapi.yaml: the parameter format lacks {name}" for name in sorted(missing)]
    return ctext.finish("members", problems)


sys.exit(main())
