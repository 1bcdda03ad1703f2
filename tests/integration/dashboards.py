#!/usr/bin/env python3
"""The dashboards of dist/grafana: every query of every panel, as Grafana's data source sends it, answers points of a real daemon.

Panels become requests as the plug-in grafana-opentsdb-datasource makes them: tags with variables replaced by "*" (All) and by chosen values, the
interval of the panel's width, rate options with dropResets; and the variables' own look-ups. The data: metrics of hosts and web logs get points with
exactly the tags that docs/COLLECTORS.md lists for them (integration_collect compares that table with what the collectors send), those of tsd
itself are what /api/stats answers.
"""
import glob
import itertools
import json
import os
import re
import sys
import time
import urllib.parse

from tsdtest import ROOT, Daemon

HOSTS = ("web1", "web2")
failures = []


def check(what, ok, got):
    if not ok:
        failures.append(what)
        print("WRONG %s: %s" % (what, got))


def documented():
    """{metric: (tags, is a counter)} of the table in docs/COLLECTORS.md; a name may end in *."""
    found = {}
    with open(ROOT + "/docs/COLLECTORS.md", encoding="utf-8") as f:
        for line in f:
            cells = [c.strip() for c in line.split("|")]
            if len(cells) > 7 and cells[3].startswith("`") and cells[6] in ("G", "C"):
                found[cells[3].strip("`")] = (cells[4].split(), cells[6] == "C")
    return found


def described(metric, table):
    """The row of a metric, its own or that of its family."""
    for name in (metric, metric.rsplit(".", 1)[0] + ".*"):
        if name in table:
            return table[name]
    return None


def panels(board):
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target


def points_of(target, table, now):
    """Lines for one target: two hosts, two values of every tag (or those that the panel asks for), ten minutes, a point each 30 s."""
    row = described(target["metric"], table)
    if row is None:
        return None
    tags, counter = row
    values = []
    for tag in tags:
        asked = target["tags"].get(tag, "*")
        values.append([(tag, v) for v in (("a", "b") if asked == "*" or "$" in asked else asked.split("|"))])
    lines = []
    for host in HOSTS:
        for combination in itertools.product(*values):
            suffix = " ".join("%s=%s" % pair for pair in (("host", host),) + combination)
            for i in range(20):
                lines.append("put %s %d %d %s\n" % (target["metric"], now - 600 + 30 * i, 100 * i if counter else 50 + i % 3, suffix))
    return lines


def request_of(target, variables, start, end):
    """The body of /api/query as the plug-in sends it."""
    query = {"metric": target["metric"], "aggregator": target["aggregator"]}
    if target["shouldComputeRate"]:
        query["rate"] = True
        query["rateOptions"] = {"counter": target["isCounter"], "dropResets": True}
    query["downsample"] = "%s-%s" % (target["downsampleInterval"] or "1m", target["downsampleAggregator"])
    if target["downsampleFillPolicy"] != "none":
        query["downsample"] += "-" + target["downsampleFillPolicy"]
    query["tags"] = {k: re.sub(r"\$(\w+)", lambda m: variables[m.group(1)], v) for k, v in target["tags"].items()}
    return {"start": start * 1000, "end": end * 1000, "queries": [query], "msResolution": False, "globalAnnotations": True, "showQuery": True}


def looked_up(d, query):
    """The values of a variable tag_values(METRIC, TAG)."""
    m = re.fullmatch(r"tag_values\(([\w.]+), (\w+)\)", query)
    check("a variable's query", m, query)
    answer = d.api("/api/search/lookup?limit=1000&m=" + urllib.parse.quote("%s{%s=*}" % m.groups()))
    return sorted({r["tags"][m.group(2)] for r in answer["results"]})


def fill_board(d, board, table, now):
    for title, target in panels(board):
        if not target["metric"].startswith("tsd."):
            lines = points_of(target, table, now)
            check("%s, %s: a metric of docs/COLLECTORS.md" % (board["title"], title), lines, target["metric"])
            d.send("".join(lines or ()))


def fill_self(d, now):
    """The answers of /api/stats as points, as a collector would store them; twice, for rates."""
    for at in (now - 120, now - 60, now):
        body = [{"metric": r["metric"], "timestamp": at, "value": r["value"], "tags": r["tags"]} for r in d.api("/api/stats")]
        for i in range(0, len(body), 50):
            d.api("/api/put?details", body[i:i + 50])


def ask_board(d, board, start, end):
    """Every target with All, and with values that were chosen; the number of queries asked."""
    asked = 0
    lists = [v for v in board["templating"]["list"] if v["type"] == "query"]
    everything, chosen = {v["name"]: v["allValue"] for v in lists}, {}
    for v in lists:
        values = looked_up(d, v["query"])
        check("%s: values of %s" % (board["title"], v["name"]), values, values)
        chosen[v["name"]] = "|".join(values)
    for title, target in panels(board):
        what = "%s, %s, %s" % (board["title"], title, target["metric"])
        answers = []
        for variables in (everything, chosen):
            answer = d.api("/api/query?arrays=true", request_of(target, variables, start, end))
            series = [s for s in answer if s.get("dps")]
            check(what, series, str(answer)[:300])
            answers.append(sorted(json.dumps([s["tags"], s["dps"]], sort_keys=True) for s in series))
            asked += 1
            for name in re.findall(r"\$tag_(\w+)", target.get("alias", "")):
                check(what + ": the alias names a tag", all(name in s["tags"] for s in series), name)
        check(what + ": all values chosen are All", answers[0] == answers[1], (answers[0][:1], answers[1][:1]))
    return asked


def main():
    table = documented()
    check("rows of docs/COLLECTORS.md", len(table) > 200, len(table))
    boards = []
    for path in sorted(glob.glob(ROOT + "/dist/grafana/*.json")):
        with open(path, encoding="utf-8") as f:
            boards.append(json.load(f))
        check("its uid is its file's name", boards[-1]["uid"] + ".json" == os.path.basename(path), path)
        ids = [p["id"] for p in boards[-1]["panels"]]
        check("panels have ids of their own", len(ids) == len(set(ids)), ids)
    now = int(time.time()) // 60 * 60
    with Daemon(workers=2, self_metrics="false") as d:  # those of this test do not change between two questions
        for board in boards:
            fill_board(d, board, table, now)
        d.sync()
        fill_self(d, now)
        asked = sum(ask_board(d, board, now - 900, now + 60) for board in boards)
    check("dashboards and queries", len(boards) == 3 and asked >= 60, (len(boards), asked))
    print("dashboards: %d queries, %s" % (asked, "fine" if not failures else "%d wrong" % len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
