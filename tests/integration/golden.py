#!/usr/bin/env python3
"""Replay what OpenTSDB was asked (tests/golden/opentsdb) with compat = opentsdb: every answer agrees, or is one of KNOWN.

    golden.py [--folder DIR] [--only CATEGORY,..] [--id ID,..] [--server HOST:PORT | --hbase [--empty]] [-v]

--hbase: the daemon's points are in HBase too (TSD_HBASE_GATEWAY=HOST:PORT, real or fake) before the first question, and answers are merged from both.
--empty: another daemon with an empty folder over the same tables is asked, whose answers come from HBase alone.

How an answer is judged says `compare` of its case: json (numbers within 1e-9, lists of series in any order), error (status and shape of the error),
anyerror, put (counts and refused points), keys, names, text, telnet, status. A case of KNOWN that agrees fails the run too.
"""
import argparse
import gzip
import http.client
import json
import os
import re
import socket
import sys
import time
import urllib.parse

from tsdtest import ROOT, Daemon, talk, until

# Differences we keep, at most 12. Each is explained in docs/COMPATIBILITY.md, "Recorded answers that differ".
KNOWN = {
    "delete-002": "OpenTSDB still shows what it deleted",
}
# Orders that OpenTSDB takes from ids: series that only HBase has, and their tags, are in the order of their names (--empty)
BY_NAME = {
    "exp-001": "order of the columns of an expression",
    "exp-002": "the same",
    "options-009": "order of aggregateTags, compared as text",
}
RELATIVE = 1e-9
ANY_ORDER = ("aggregateTags", "tsuids", "tags")


class Names:
    """Ids as the server gave them; fills {NOW..}, {RUN}, {UID:kind:name}, {TSUID:metric|k=v,..} in texts."""

    def __init__(self):
        self.now = int(time.time())
        self.uid = {}

    def assign(self, ask, names):
        for kind, words in names.items():
            for word in map(self.fill, words):
                try:
                    answer = json.loads(ask("POST", "/api/uid/assign", json.dumps({kind: [word]}))[1])
                except ValueError:
                    return
                if word in answer.get(kind, {}):
                    self.uid[kind, word] = answer[kind][word]
                for text in answer.get(kind + "_errors", {}).values():
                    self.uid[kind, word] = re.search(r"UID: ([0-9A-Fa-f]+)", text).group(1).upper()

    def _one(self, m):
        what = m.group(1)
        if what.startswith("NOW_MS"):
            return str((self.now + int(what[6:] or 0)) * 1000)
        if what.startswith("NOW"):
            return str(self.now + int(what[3:] or 0))
        if what.startswith("UID:"):
            return self.uid.get(tuple(what[4:].split(":", 1)), "??????")
        metric, _, tags = what[6:].partition("|")
        pairs = [t.split("=", 1) for t in tags.split(",") if t]
        ids = sorted(self.uid.get(("tagk", k), "??????") + self.uid.get(("tagv", v), "??????") for k, v in pairs)
        return self.uid.get(("metric", metric), "??????") + "".join(ids)

    def fill(self, text):
        if text is None:
            return None
        text = text.replace("{RUN}", "r%d" % self.now)
        return re.sub(r'\{((?:NOW_MS|NOW)(?:[+-]\d+)?|UID:[^{}"\\]+|TSUID:[^{}"\\]+)\}', self._one, text)


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def same_number(a, b):
    return a == b or (a != a and b != b) or abs(a - b) <= RELATIVE * max(abs(a), abs(b))


def in_order(x, key=None):
    """Lists that have no order sorted: names of ANY_ORDER, and objects by what describes them."""
    if isinstance(x, dict):
        return {k: in_order(v, k) for k, v in x.items()}
    if not isinstance(x, list):
        return x
    x = [in_order(v) for v in x]
    if key in ANY_ORDER and all(isinstance(v, str) for v in x):
        return sorted(x)
    if x and all(isinstance(v, dict) for v in x):
        return sorted(x, key=lambda d: (json.dumps({k: v for k, v in d.items() if k != "dps"}, sort_keys=True), len(d.get("dps") or "")))
    return x


def difference(a, b, at="$"):
    """First place where the recorded a and our b differ; None if they agree."""
    if is_number(a) and is_number(b):
        return None if same_number(a, b) else "%s: %r recorded, %r answered" % (at, a, b)
    if type(a) is not type(b) or (isinstance(a, list) and len(a) != len(b)):
        return "%s: %.150r recorded, %.150r answered" % (at, a, b)
    if isinstance(a, dict):
        if set(a) != set(b):
            return "%s: members %s" % (at, sorted(set(a) ^ set(b)))
        return next(filter(None, (difference(a[k], b[k], at + "." + k) for k in a)), None)
    if isinstance(a, list):
        return next(filter(None, (difference(x, y, "%s[%d]" % (at, i)) for i, (x, y) in enumerate(zip(a, b)))), None)
    return None if a == b else "%s: %.150r recorded, %.150r answered" % (at, a, b)


def same_word(a, b):
    try:
        return a == b or same_number(float(a), float(b))
    except ValueError:
        return False


def same_line(a, b):
    """Words agree; tags, from the fourth word on, in any order."""
    a, b = a.split(" "), b.split(" ")
    if len(a) != len(b):
        return False
    return all(map(same_word, a, b)) or (all(map(same_word, a[:3], b[:3])) and sorted(a[3:]) == sorted(b[3:]))


def judge_text(want, got):
    want, got = (sorted(t.replace("\r\n", "\n").rstrip("\n").split("\n")) for t in (want, got))
    bad = [(a, b) for a, b in zip(want, got) if not same_line(a, b)]
    if len(want) != len(got):
        return "%d lines recorded, %d answered" % (len(want), len(got))
    return "%.200r recorded, %.200r answered" % bad[0] if bad else None


def judge_telnet(want, got):
    want, got = ([line.split(":")[:2] for line in t.splitlines()] for t in (want, got))
    return None if want == got else "%.200r recorded, %.200r answered" % (want, got)


def judge_error(want, got):
    a, b = want.get("error", {}), got.get("error") if isinstance(got, dict) else None
    if not isinstance(b, dict) or not b.get("message") or "code" not in b:
        return "no error object: %.200r" % got
    return None if not a or a.get("code") == b["code"] else "code %r recorded, %r answered" % (a.get("code"), b["code"])


def judge_put(want, got):
    if "error" in want:
        return judge_error(want, got)
    want, got = ({k: [e.get("datapoint") for e in v] if k == "errors" else v for k, v in x.items()} for x in (want, got))
    return difference(in_order(want), in_order(got))


def judge_names(want, got):
    allowed = set().union(*want)
    ok = isinstance(got, list) and got and all(isinstance(x, dict) and x and set(x) <= allowed for x in got)
    return None if ok else "members %s recorded, %.200r answered" % (sorted(allowed), got)


def judge_keys(want, got):
    want, got = (sorted(x) if isinstance(x, dict) else type(x).__name__ for x in (want, got))
    return None if want == got else "%s recorded, %s answered" % (want, got)


def judge_json(want, got):
    if isinstance(want, list) and want and all(isinstance(x, str) for x in want) and isinstance(got, list):
        want, got = sorted(want), sorted(map(str, got))
    return difference(in_order(want), in_order(got))


JUDGES = {"error": judge_error, "put": judge_put, "names": judge_names, "keys": judge_keys, "json": judge_json}


def judge(case, want, status, got):
    mode = case["compare"]
    for pattern, to in case.get("scrub", []):
        want, got = re.sub(pattern, to, want), re.sub(pattern, to, got)
    if mode == "telnet":
        return judge_telnet(want, got)
    if mode == "anyerror":
        return None if status >= 400 else "an error recorded, %d answered" % status
    if status != case["status"]:
        return "status %d recorded, %d answered: %.200s" % (case["status"], status, got)
    if mode == "status":
        return None
    if mode == "text":
        return judge_text(want, got)
    try:
        want = json.loads(want)
    except ValueError:
        return None if want == got else "%.200r recorded, %.200r answered" % (want, got)
    try:
        return JUDGES[mode](want, json.loads(got))
    except ValueError:
        return "no JSON: %.200r" % got


class Server:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def ask(self, method, path, body=None, headers=None):
        c = http.client.HTTPConnection(self.host, self.port, timeout=300)
        headers = dict(headers or {})
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        c.request(method, urllib.parse.quote(path, safe="/?&=%:;,.!*()-_~+'@$#"), body.encode() if body is not None else None, headers)
        r = c.getresponse()
        text = r.read().decode("utf-8", "replace")
        c.close()
        return r.status, text

    def lines(self, text, end=None):
        """Send lines and half-close; what comes back."""
        return talk(socket.create_connection((self.host, self.port), 120), text.encode()).decode("utf-8", "replace")


def load(server, names, path):
    """The put lines; a connection for each stretch between pauses, whose end says that all were taken."""
    stretch, replies = [], ""
    with gzip.open(path, "rt", encoding="utf-8") as f:
        for line in [*f, "#sleep 0"]:
            if not line.startswith("#sleep"):
                stretch.append(names.fill(line))
                continue
            replies += server.lines("".join(stretch) + "sync\n")
            stretch = []
    return [r for r in replies.splitlines() if not r.startswith("ok ")]


def answer(server, names, case):
    path, body = names.fill(case["path"]), names.fill(case.get("body"))
    if case["method"] == "TELNET":
        return 0, server.lines(body)
    return server.ask(case["method"], path, body, case.get("headers"))


def replay(server, folder, wanted, verbose, settle=None):
    names = Names()
    with open(folder + "/names.json") as f:
        names.assign(server.ask, json.load(f))
    replies = load(server, names, folder + "/puts.txt.gz")
    for r in replies[:3]:
        print("answer to a put: " + r)
    if settle:
        server = settle()
    bad, n = {}, 0
    with open(folder + "/cases.jsonl") as f:
        cases = [json.loads(line) for line in f if line.strip()]
    for case in filter(wanted, cases):
        status, got = answer(server, names, case)
        want = names.fill(case["response"])
        why = judge(case, want, status, got)
        n += 1
        if why:
            bad[case["id"]] = why
            if verbose:
                print("%s %s %s %s\n  recorded %s\n  answered %s" % (case["id"], case["method"], names.fill(case["path"]), names.fill(case.get("body")), want, got))
    return bad, n


def verdict(bad, n, whole, is_empty=False):
    """0 if exactly the known cases differ."""
    known = {**KNOWN, **BY_NAME} if is_empty else KNOWN
    expected = known if whole else {}
    failed = 0
    for case in sorted(set(bad) - set(known)):
        print("DIFFERENT %s: %s" % (case, bad[case]))
        failed = 1
    for case in sorted(set(expected) - set(bad)):
        print("STALE %s agrees: take it off the list (%s)" % (case, expected[case]))
        failed = 1
    if len(KNOWN) > 12:
        print("TOO MANY known differences: %d" % len(KNOWN))
        failed = 1
    print("golden: %d of %d answers agree" % (n - len(bad), n))
    return failed


def over_hbase(replay_all, is_empty):
    """Replay with a daemon whose remote store is HBase; is_empty: the questions are for another one, which has nothing else."""
    sys.path.insert(0, ROOT + "/tests/hbase")
    from thrift2 import Gateway
    where = os.environ.pop("TSD_HBASE_GATEWAY")
    g = Gateway(where.rpartition(":")[0], int(where.rpartition(":")[2]))
    tables = g.create_opentsdb("tsd_golden_%d_" % os.getpid())
    keys = {"hbase_%s_table" % part: name for part, name in zip(("data", "uid", "tree", "meta"), tables)}
    keys.update(workers=2, compat="opentsdb", auto_create_metrics="true", query_allow_delete="true", remote="hbase", hbase_gateways=where, hbase_ship=1, hbase_keep_local_h=1)
    with Daemon(**keys) as d, Daemon(**keys) as empty:
        def stat(name):
            return sum(float(r["value"]) for r in d.api("/api/stats") if r["metric"] == "tsd." + name)

        def settle():
            d.flush("compact")
            until("all points are shipped", lambda: stat("storage.ship.points") >= stat("storage.files.points") > 0)
            return Server("127.0.0.1", (empty if is_empty else d).port)
        result = replay_all(Server("127.0.0.1", d.port), settle)
    g.drop_all(tables)
    return result


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("--folder", default=ROOT + "/tests/golden/opentsdb")
    ap.add_argument("--only")
    ap.add_argument("--id")
    ap.add_argument("--server")
    ap.add_argument("--hbase", action="store_true")
    ap.add_argument("--empty", action="store_true")
    ap.add_argument("-v", action="store_true")
    a = ap.parse_args()

    def wanted(case):
        return (not a.only or case["category"] in a.only.split(",")) and (not a.id or case["id"] in a.id.split(","))
    whole = not a.only and not a.id
    if a.server:
        host, _, port = a.server.rpartition(":")
        return verdict(*replay(Server(host, int(port)), a.folder, wanted, a.v), whole)
    if a.hbase:
        return verdict(*over_hbase(lambda server, settle: replay(server, a.folder, wanted, a.v, settle), a.empty), whole, a.empty)
    with Daemon(workers=2, compat="opentsdb", auto_create_metrics="true", query_allow_delete="true") as d:
        return verdict(*replay(Server("127.0.0.1", d.port), a.folder, wanted, a.v), whole)


if __name__ == "__main__":
    sys.exit(main())
