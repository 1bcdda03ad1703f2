#!/usr/bin/env python3
"""/api/tree of a real daemon: definitions, rules, branches, tests, failures; all methods, overrides and errors; kill -9 and restart."""
import time

from metakit import ask, check, end, refused
from tsdtest import Daemon, together

T = 1356998400
HOSTS = [("sys.cpu.user", {"host": "web01.lga.example.com", "dc": "lga"}), ("sys.cpu.user", {"host": "web02.lga.example.com", "dc": "lga"}),
         ("sys.cpu.sys", {"host": "web01.lga.example.com", "dc": "lga"}), ("sys.mem", {"host": "db01.sjc.example.com"}),
         ("sys.mem", {"host": "db01.sjc.example.com", "x": "y"}), ("app.x", {"id": "7"})]
NONE = {"field": "", "customField": "", "regex": "", "regexGroupIdx": 0, "separator": "", "displayFormat": "", "description": "", "notes": ""}


def rule(tree, level, order, kind, **fields):
    return {"treeId": tree, "level": level, "order": order, "type": kind, **NONE, **fields}


def points(d):
    d.send("".join("put %s %d 1 %s\n" % (m, T, " ".join("%s=%s" % kv for kv in tags.items())) for m, tags in HOSTS))
    d.sync()


def tsuids(d):
    """TSUID of each of HOSTS."""
    rows = ask(d, "GET", "/api/search/lookup?m=*&limit=100")[1]["results"]
    return [next(r["tsuid"] for r in rows if (r["metric"], r["tags"]) == h) for h in HOSTS]


def definitions(d):
    check("no trees", ask(d, "GET", "/api/tree"), (200, []))
    check("no name", refused(ask(d, "POST", "/api/tree", {"description": "x"})), (400, "Missing tree name"))
    s, a = ask(d, "POST", "/api/tree", {"name": "Hosts", "notes": "n", "strictMatch": "true", "unknown": 1, "rules": {}})
    check("a new tree", (s, abs(a.pop("created") - time.time()) < 600, a),
          (200, True, {"treeId": 1, "name": "Hosts", "description": "", "notes": "n", "strictMatch": True, "enabled": False, "storeFailures": False,
                       "rules": None}))
    s, b = ask(d, "POST", "/api/tree?name=Second&store_failures=true&strict_match=false&description=a+b")
    check("another by parameters", (s, b["treeId"], b["storeFailures"], b["strictMatch"], b["description"]), (200, 2, True, False, "a b"))
    check("both", [t["name"] for t in ask(d, "GET", "/api/tree")[1]], ["Hosts", "Second"])
    check("one", ask(d, "GET", "/api/v1/tree?treeid=2"), (200, b))
    check("POST merges", ask(d, "POST", "/api/tree", {"treeId": "1", "enabled": True, "strictMatch": "false"})[1]["notes"], "n")
    check("the same again", ask(d, "POST", "/api/tree", {"treeId": 1, "enabled": "true"}), (304, None))
    s, a = ask(d, "PUT", "/api/tree", {"treeId": 1, "name": "Hosts", "enabled": "true"})
    check("PUT replaces", (s, a["notes"], a["enabled"], a["created"] > 0), (200, "", True, True))
    check("PUT again", ask(d, "PUT", "/api/tree?treeid=1&name=Hosts&enabled=true"), (304, None))
    check("PUT without a name", refused(ask(d, "PUT", "/api/tree", {"treeId": 1})), (400, "Missing tree name"))
    for what, answer, want in (
            ("unknown", ask(d, "GET", "/api/tree?treeid=3"), (404, "Unable to locate tree: 3")),
            ("unknown to POST", ask(d, "POST", "/api/tree", {"treeId": 3, "name": "x"}), (404, "Unable to locate tree: 3")),
            ("no number", ask(d, "GET", "/api/tree?treeid=x"), (400, "Invalid tree ID: x (1 to 65535)")),
            ("too large", ask(d, "POST", "/api/tree", {"treeId": 65536}), (400, "Invalid tree ID: 65536 (1 to 65535)")),
            ("negative", ask(d, "POST", "/api/tree", {"treeId": -1}), (400, "Invalid tree ID: -1 (1 to 65535)")),
            ("a list", ask(d, "POST", "/api/tree", {"treeId": [1]}), (400, "Field 'treeId' must be a whole number")),
            ("neither true nor false", ask(d, "POST", "/api/tree", {"treeId": 1, "enabled": "maybe"}), (400, "Field 'enabled' must be true or false")),
            ("no object", ask(d, "POST", "/api/tree", [1]), (400, "Expected a JSON object")),
            ("PATCH", ask(d, "PATCH", "/api/tree", {}), (400, "Unsupported HTTP request method")),
            ("another path", ask(d, "GET", "/api/tree/nothing"), (404, "Endpoint not found"))):
        check(what, refused(answer), want)
    check("bad JSON", ask(d, "POST", "/api/tree", None)[0], 400)


def rules(d):
    check("by parameters", ask(d, "POST", "/api/tree/rule?treeid=1&level=0&order=0&type=tagk&field=dc&notes=n"),
          (200, rule(1, 0, 0, "TAGK", field="dc", notes="n")))
    check("the same again", ask(d, "POST", "/api/tree/rule", {"treeId": 1, "level": 0, "order": 0, "type": "TAGK"}), (304, None))
    check("read", ask(d, "GET", "/api/tree/rule?treeid=1&level=0&order=0"), (200, rule(1, 0, 0, "TAGK", field="dc", notes="n")))
    check("merged", ask(d, "POST", "/api/tree/rule", {"treeId": 1, "level": 0, "order": 0, "regexGroupIdx": "0", "displayFormat": "{value}"}),
          (200, rule(1, 0, 0, "TAGK", field="dc", notes="n", displayFormat="{value}")))
    check("replaced", ask(d, "PUT", "/api/tree/rule", {"treeId": 1, "level": 0, "order": 0, "type": "TAGK", "field": "dc"}),
          (200, rule(1, 0, 0, "TAGK", field="dc")))
    check("merge many", ask(d, "POST", "/api/tree/rules", [
        rule(1, 0, 1, "TAGK", field="host", regex="^[^.]+\\.([^.]+)\\."), rule(1, 1, 0, "TAGK", field="host", regex="^([^.]+)"),
        rule(1, 9, 0, "METRIC"), {"treeId": "1", "level": 2, "order": 0, "type": "METRIC", "separator": "\\."}]), (204, None))
    check("deleted", ask(d, "DELETE", "/api/tree/rule?treeid=1&level=9&order=0"), (204, None))
    got = ask(d, "GET", "/api/tree?treeid=1")[1]["rules"]
    check("all", {k: sorted(v) for k, v in got.items()}, {"0": ["0", "1"], "1": ["0"], "2": ["0"]})
    check("one of them", got["2"]["0"], rule(1, 2, 0, "METRIC", separator="\\."))
    check("replace all", ask(d, "PUT", "/api/tree/rules?treeid=2", [{"level": 3, "order": 0, "type": "METRIC"}]), (204, None))
    check("again", ask(d, "PUT", "/api/tree/rules", [rule(2, 0, 0, "TAGK", field="dc"), rule(2, 1, 0, "TAGK", field="host", regex="^(.)")]), (204, None))
    check("replaced all", sorted(ask(d, "GET", "/api/tree?treeid=2")[1]["rules"]), ["0", "1"])
    check("one of many is wrong: none is stored",
          refused(ask(d, "PUT", "/api/tree/rules", [rule(2, 0, 0, "METRIC"), rule(2, 1, 0, "METRICS")]))[0], 400)
    check("nothing was stored", ask(d, "GET", "/api/tree/rule?treeid=2&level=0&order=0")[1]["type"], "TAGK")
    gone = (404, "Unable to locate rule")
    for what, answer, want in (
            ("no rule", ask(d, "GET", "/api/tree/rule?treeid=1&level=7&order=0"), gone),
            ("no rule to delete", ask(d, "DELETE", "/api/tree/rule?treeid=1&level=7&order=0"), gone),
            ("no tree", ask(d, "POST", "/api/tree/rule", rule(9, 0, 0, "METRIC")), (404, "Unable to locate tree: 9")),
            ("no tree for many", ask(d, "POST", "/api/tree/rules", [rule(9, 0, 0, "METRIC")]), (404, "Unable to locate tree: 9")),
            ("no tree given", ask(d, "GET", "/api/tree/rule?level=7&order=0"), (400, "Missing tree ID")),
            ("no level", ask(d, "GET", "/api/tree/rule?treeid=1&order=0"), (400, "Missing rule level")),
            ("no order", ask(d, "POST", "/api/tree/rule", {"treeId": 1, "level": 0}), (400, "Missing rule order")),
            ("bad level", ask(d, "GET", "/api/tree/rule?treeid=1&level=x&order=0"), (400, "Field 'level' must be a whole number")),
            ("no type", ask(d, "POST", "/api/tree/rule", {"treeId": 1, "level": 5, "order": 0}), (400, "Missing rule type")),
            ("bad expression", ask(d, "POST", "/api/tree/rule", {"treeId": 1, "level": 0, "order": 1, "regex": "("}),
             (400, 'Failed to compile regular expression "(": missing closing parenthesis at 1')),
            ("two trees", ask(d, "POST", "/api/tree/rules", [rule(1, 0, 0, "METRIC"), rule(2, 0, 0, "METRIC")]),
             (400, "All rules must be of one tree: 1 and 2 are given")),
            ("no rules", ask(d, "POST", "/api/tree/rules", []), (400, "Missing tree rules")),
            ("no array", ask(d, "POST", "/api/tree/rules", {}), (400, "Expected an array of rules")),
            ("no objects", ask(d, "POST", "/api/tree/rules?treeid=1", [1]), (400, "Expected a JSON object")),
            ("no body", ask(d, "POST", "/api/tree/rules"), (400, "Missing message content")),
            ("many by GET", ask(d, "GET", "/api/tree/rules?treeid=1"), (400, "Unsupported HTTP request method"))):
        check(what, refused(answer), want)
    check("more than the key allows", refused(ask(d, "POST", "/api/tree/rules", [rule(2, i, 0, "METRIC") for i in range(11)])),
          (413, "A tree has at most tree_max_rules = 10 rules"))
    check("one by one, up to the key", [ask(d, "POST", "/api/tree/rules", [rule(2, i, 1, "METRIC") for i in range(k, k + 5)])[0] for k in (0, 5)], [204, 413])
    ask(d, "PUT", "/api/tree/rules", [rule(2, 0, 0, "TAGK", field="dc"), rule(2, 1, 0, "TAGK", field="host", regex="^(.)")])


def branch(treeid, depth, names, hashes):
    return {"treeId": treeid, "branchId": "%04X" % treeid + "".join(hashes), "depth": depth, "displayName": names[-1],
            "path": {str(i): n for i, n in enumerate(names)}}


def branches(d, ids):
    lga, web01, sys_, cpu = "0001A246", "06BC4C55", "0001BECD", "000181A8"  # String.hashCode of Java
    s, root = ask(d, "GET", "/api/tree/branch?treeid=1")
    check("the root", (s, {k: root[k] for k in root if k != "branches"}), (200, {**branch(1, 0, ["ROOT"], []), "leaves": None}))
    check("below it", [(b["displayName"], b["depth"], b["branches"], b["leaves"]) for b in root["branches"]],
          [("app", 1, None, None), ("lga", 1, None, None), ("sjc", 1, None, None)])
    check("a child", root["branches"][1], {**branch(1, 1, ["ROOT", "lga"], [lga]), "branches": None, "leaves": None})
    check("the root by its id", ask(d, "GET", "/api/tree/branch?branch=0001"), (200, root))
    leaf = {"metric": HOSTS[0][0], "tags": HOSTS[0][1], "tsuid": ids[0], "displayName": "user"}
    deep = branch(1, 4, ["ROOT", "lga", "web01", "sys", "cpu"], [lga, web01, sys_, cpu])
    s, b = ask(d, "GET", "/api/tree/branch?branch=0001" + lga.lower() + web01 + sys_ + cpu)
    check("leaves", (s, b), (200, {**deep, "branches": None, "leaves": [{**leaf, "displayName": "sys", "metric": HOSTS[2][0], "tsuid": ids[2]}, leaf]}))
    for what, answer, want in (
            ("unknown", ask(d, "GET", "/api/tree/branch?branch=000100000000"), (404, "Unable to locate branch '000100000000' for tree '1'")),
            ("of no tree", ask(d, "GET", "/api/tree/branch?branch=0009"), (404, "Unable to locate tree: 9")),
            ("not enabled", ask(d, "GET", "/api/tree/branch?treeid=2"), (404, "Unable to locate branch '0002' for tree '2'")),
            ("no id", ask(d, "GET", "/api/tree/branch?branch=00010"), (400, "Unable to parse branch ID: 00010")),
            ("nothing", ask(d, "GET", "/api/tree/branch"), (400, "Missing branch or tree ID")),
            ("POST", ask(d, "POST", "/api/tree/branch", {"treeId": 1}), (400, "Unsupported HTTP request method")),
            ("DELETE", ask(d, "DELETE", "/api/tree/branch?treeid=1"), (400, "Unsupported HTTP request method"))):
        check(what, refused(answer), want)
    return deep, leaf


def tested(d, ids, deep, leaf):
    s, a = ask(d, "GET", "/api/tree/test?treeid=1&tsuids=%s,000001000009000009" % ids[0])
    check("tested", (s, a[ids[0]]["branch"], a[ids[0]]["meta"]["tsuid"], a[ids[0]]["messages"][:1]),
          (200, {**deep, "branches": None, "leaves": [leaf]}, ids[0], ["Level 0, order 0, TAGK dc: matches lga"]))
    check("unknown", a["000001000009000009"], {"branch": None, "meta": None, "messages": ["Unable to locate TSUID meta data"]})
    s, b = ask(d, "POST", "/api/tree/test", {"treeId": "2", "tsuids": [ids[5]]})
    check("not enabled, without a match", (s, b[ids[5]]["branch"], b[ids[5]]["messages"][-1]), (200, None, "No rule matched"))
    check("a list as text", sorted(ask(d, "PUT", "/api/tree/test", {"treeId": 1, "tsuids": "%s,%s" % (ids[0], ids[1])})[1]), sorted(ids[:2]))
    for what, answer, want in (
            ("no series", ask(d, "GET", "/api/tree/test?treeid=1"), (400, "Missing TSUIDs")),
            ("no tree", ask(d, "GET", "/api/tree/test?treeid=9&tsuids=" + ids[0]), (404, "Unable to locate tree: 9")),
            ("no TSUID", ask(d, "GET", "/api/tree/test?treeid=1&tsuids=0"), (400, "Invalid TSUID: 0")),
            ("no list", ask(d, "POST", "/api/tree/test", {"treeId": 1, "tsuids": 5}), (400, "Field 'tsuids' must be an array of texts")),
            ("no texts", ask(d, "POST", "/api/tree/test", {"treeId": 1, "tsuids": [5]}), (400, "Field 'tsuids' must be an array of texts")),
            ("DELETE", ask(d, "DELETE", "/api/tree/test?treeid=1"), (400, "Unsupported HTTP request method"))):
        check("test: " + what, refused(answer), want)


def failures(d, ids):
    check("not told", ask(d, "GET", "/api/tree/collisions?treeid=1"), (200, {}))
    ask(d, "POST", "/api/tree", {"treeId": 1, "storeFailures": True, "strictMatch": True})
    hit = {ids[4]: ids[3]}
    check("collisions", ask(d, "GET", "/api/tree/collisions?treeid=1"), (200, hit))
    check("of these", ask(d, "POST", "/api/tree/collisions", {"treeId": 1, "tsuids": [ids[4], ids[0], "000001000009000009"]}), (200, hit))
    check("not of these", ask(d, "GET", "/api/tree/collisions?treeid=1&tsuids=" + ids[3]), (200, {}))
    why = {ids[5]: "No rule of level 0 matched, and the tree is strict"}
    check("not matched", ask(d, "GET", "/api/tree/notmatched?treeid=1"), (200, why))
    check("of this", ask(d, "PUT", "/api/tree/notmatched", {"treeId": 1, "tsuids": ids[5]}), (200, why))
    check("not of this", ask(d, "GET", "/api/tree/notmatched?treeid=1&tsuids=" + ids[0]), (200, {}))
    for path in ("collisions", "notmatched"):
        check(path + " of no tree", refused(ask(d, "GET", "/api/tree/%s?treeid=9" % path)), (404, "Unable to locate tree: 9"))
        check(path + " by DELETE", refused(ask(d, "DELETE", "/api/tree/%s?treeid=1" % path)), (400, "Unsupported HTTP request method"))
        check(path + " of none", refused(ask(d, "GET", "/api/tree/" + path)), (400, "Missing tree ID"))
    ask(d, "POST", "/api/tree", {"treeId": 1, "strictMatch": "no"})


def names(d):
    """Branches follow names and what is said about them at once."""
    ask(d, "POST", "/api/uid/rename", {"tagv": "lga", "name": "nyc"})
    check("renamed", [b["displayName"] for b in ask(d, "GET", "/api/tree/branch?treeid=1")[1]["branches"]], ["app", "nyc", "sjc"])
    ask(d, "POST", "/api/uid/rename", {"tagv": "nyc", "name": "lga"})
    uid = ask(d, "GET", "/api/search/uidmeta?query=type=METRIC+name=sys.mem")[1]["results"][0]["uid"]
    check("a tree of owners", ask(d, "POST", "/api/tree", {"name": "Owners", "enabled": "true"})[1]["treeId"], 3)
    ask(d, "POST", "/api/tree/rules", [rule(3, 0, 0, "METRIC_CUSTOM", customField="owner"), rule(3, 1, 0, "METRIC", displayFormat="{value} ({tsuid})")])
    ask(d, "POST", "/api/uid/uidmeta", {"uid": uid, "type": "metric", "custom": {"owner": "ops"}})
    a = ask(d, "GET", "/api/tree/branch?treeid=3")[1]
    check("owners", ([b["displayName"] for b in a["branches"]], len(a["leaves"])), (["ops"], 4))
    d.send("put late.one %d 1 host=x dc=zrh\n" % T)
    d.sync()
    check("a new series", [b["displayName"] for b in ask(d, "GET", "/api/tree/branch?treeid=1")[1]["branches"]], ["app", "lga", "sjc", "zrh"])


def at_once(d):
    """Rules of one tree, trees, by several clients at the same time: nothing is lost, no id is given twice."""
    answers = []

    def one(i):
        answers.append((ask(d, "POST", "/api/tree/rule", rule(4, i, 0, "METRIC"))[0], ask(d, "POST", "/api/tree", {"name": "many"})[1]["treeId"]))

    check("for many", ask(d, "POST", "/api/tree", {"name": "many"})[1]["treeId"], 4)
    together(*((one, i) for i in range(10)))
    check("at once", (sorted(s for s, _ in answers), sorted(i for _, i in answers)), ([200] * 10, list(range(5, 15))))
    check("all rules are there", len(ask(d, "GET", "/api/tree?treeid=4")[1]["rules"]), 10)
    for i in range(4, 15):
        ask(d, "DELETE", "/api/tree?treeid=%d&definition=true" % i)


def deleted(d):
    check("rules", ask(d, "DELETE", "/api/tree/rules?treeid=3"), (204, None))
    check("no rules", (ask(d, "GET", "/api/tree?treeid=3")[1]["rules"], ask(d, "DELETE", "/api/tree/rules?treeid=3")), (None, (204, None)))
    check("branches", ask(d, "DELETE", "/api/tree?treeid=1"), (204, None))
    check("the definition stays", ask(d, "GET", "/api/tree?treeid=1")[0], 200)
    check("the definition too", ask(d, "DELETE", "/api/tree?treeid=1&definition=true"), (204, None))
    check("by a body", ask(d, "DELETE", "/api/tree", {"treeId": 3, "definition": "true"}), (204, None))
    check("gone", refused(ask(d, "DELETE", "/api/tree?treeid=1")), (404, "Unable to locate tree: 1"))
    check("no id", refused(ask(d, "DELETE", "/api/tree")), (400, "Missing tree ID"))
    check("what is left", [t["treeId"] for t in ask(d, "GET", "/api/tree")[1]], [2])
    check("its id is not given again while a higher one is there", ask(d, "POST", "/api/tree", {"name": "next"})[1]["treeId"], 3)


with Daemon(workers=2, tree_max_rules="10", meta_allow_delete="true", uid_allow_rename="true") as d:
    definitions(d)
    points(d)
    rules(d)
    ids = tsuids(d)
    found = branches(d, ids)
    tested(d, ids, *found)
    failures(d, ids)
    names(d)
    before = ask(d, "GET", "/api/tree")
    d.kill()
    d.start()
    check("after kill -9", ask(d, "GET", "/api/tree"), before)
    check("branches after kill -9", ask(d, "GET", "/api/tree/branch?treeid=3")[0], 200)
    at_once(d)
    deleted(d)
    d.restart()
    check("after a restart", [t["treeId"] for t in ask(d, "GET", "/api/tree")[1]], [2, 3])
end("trees")
