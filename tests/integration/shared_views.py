#!/usr/bin/env python3
"""/api/tsd/views of a real daemon: shared views of the web page are saved, listed, replaced and removed, whatever their names; files that people put there;
limits, refusals, a daemon that changes nothing, a folder of its own."""
import json
import os
import tempfile
import threading
import urllib.parse

from metakit import ask, check, end, holds, refused
from tsdtest import Daemon

PATH = "/api/tsd/views"
ADDRESS = "v=explore&start=24h-ago&m=avg:sys.cpu.user{host=*}"
NAMES = ("a.b", ".hidden", "..", "../out", "a/b\\c", "100% of it", "%2F", "Größe", "x" * 80, "'; rm -rf \"$HOME\"", "<b>bold</b>")
NO_NAMES = ("", " a", "a ", "x" * 81, "a\nb", "\x7f", "ä" * 41)
NO_ADDRESSES = ("", "#v=explore", "v=explore\n", "v" * 8193)


def views(d):
    """{name: address} of the list, which has no problems."""
    status, found = ask(d, "GET", PATH)
    check("members of the list", (status, sorted(found), found["problems"]), (200, ["problems", "views", "writable"], []))
    return {v["name"]: v["address"] for v in found["views"]}


def remove(d, name):
    return ask(d, "DELETE", PATH + "?" + urllib.parse.urlencode({"name": name}))


def put(d, name, address=ADDRESS, method="POST"):
    return ask(d, method, PATH, {"name": name, "address": address})


def life(d, folder):
    """Saved, refused when there is one, replaced, removed."""
    check("none at first", ask(d, "GET", PATH), (200, {"views": [], "problems": [], "writable": True}))
    holds("no folder before the first view", not os.path.exists(folder))
    check("saved", put(d, "CPU of hosts"), (204, None))
    check("its file", (os.listdir(folder), json.load(open(folder + "/CPU of hosts.json", encoding="utf-8"))), (["CPU of hosts.json"], {"address": ADDRESS}))
    check("again", refused(put(d, "CPU of hosts", "v=totals")), (409, "there is a shared view CPU of hosts already: PUT replaces it"))
    check("it stays", views(d), {"CPU of hosts": ADDRESS})
    check("replaced", put(d, "CPU of hosts", "v=totals", "PUT"), (204, None))
    check("PUT of a new one", put(d, "another", "v=status", "PUT"), (204, None))
    check("both", views(d), {"CPU of hosts": "v=totals", "another": "v=status"})
    check("removed", (remove(d, "another"), remove(d, "CPU of hosts")), ((204, None), (204, None)))
    check("removed before", refused(remove(d, "another")), (404, "there is no shared view another"))
    check("nothing is left", os.listdir(folder), [])


def names(d, folder):
    """Any name is a file in the folder, and nothing beside it."""
    outside = sorted(os.listdir(os.path.dirname(folder)))
    for name in NAMES:
        check("saved %r" % name, put(d, name, "v=" + urllib.parse.quote(name)), (204, None))
    check("listed", views(d), {name: "v=" + urllib.parse.quote(name) for name in NAMES})
    holds("files in the folder", all(f.endswith(".json") and f[0] != "." for f in os.listdir(folder)) and len(os.listdir(folder)) == len(NAMES), os.listdir(folder))
    check("nothing beside it", sorted(os.listdir(os.path.dirname(folder))), outside)
    for name in NAMES:
        check("removed %r" % name, remove(d, name), (204, None))
    check("all removed", os.listdir(folder), [])
    for name in NO_NAMES:
        status, message = refused(put(d, name))
        check("refused name %r" % name, (status, "the name of a view has 1 to 80 bytes" in message), (400, True))
    for name in ("../LOCK", "..", "LOCK"):
        check("nothing to remove at " + name, remove(d, name)[0], 404)
    for address in NO_ADDRESSES:
        status, message = refused(put(d, "a", address))
        check("refused address %.20r" % address, (status, "the address of a view has 1 to 8192 bytes" in message), (400, True))
    for body in ({}, {"name": "a"}, {"name": 1, "address": "v=start"}, {"name": "a", "adress": "v=start"}, []):
        check("refused body %r" % body, ask(d, "POST", PATH, body)[0], 400)
    check("still none", os.listdir(folder), [])


def by_hand(d, folder):
    """Files that people put there count; what is no view is named with the reason."""
    def write(name, text):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    for name, text in (("By hand.json", '{"address": "v=latest", "why": "a note"}'), ("broken.json", "{"), ("list.json", "[]"), ("empty.json", '{"address": ""}'),
                       ("number.json", '{"address": 1}'), ("large.json", '{"address": "%s"}' % ("x" * 70000)), ("%zz.json", '{"address": "v=start"}'), ("notes.txt", "not read"),
                       (".swap.json", "not read"), (".json", "not read")):
        write(name, text)
    os.mkdir(folder + "/folder.json")
    os.mkfifo(folder + "/pipe.json")
    status, found = ask(d, "GET", PATH)
    check("a view put there", (status, found["views"]), (200, [{"name": "By hand", "address": "v=latest"}]))
    check("what is no view", {p["file"]: p["what"] for p in found["problems"]},
          {"broken.json": "it is not JSON", "list.json": "it has no member address with a text", "number.json": "it has no member address with a text",
           "empty.json": "its address is empty, too long, begins with # or has control characters", "large.json": "it has more than 64 KiB",
           "%zz.json": "its name is not that of a view", "folder.json": "it is not a regular file", "pipe.json": "it is not a regular file"})
    check("replaced", put(d, "broken", "v=start", "PUT"), (204, None))
    os.rmdir(folder + "/folder.json")
    for name in os.listdir(folder):
        os.remove(folder + "/" + name)


def at_once(d, folder):
    """Of many that save the same name one succeeds, and its address is whole."""
    got = []

    def one(i):
        got.append((put(d, "same", "v=%d-" % i + "x" * 8000)[0], i))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    winners = [i for status, i in got if status == 204]
    check("one of many", (len(winners), sorted(status for status, _ in got)), (1, [204] + [409] * 15))
    check("its address", views(d), {"same": "v=%d-" % winners[0] + "x" * 8000})
    check("no other file", os.listdir(folder), ["same.json"])
    remove(d, "same")


def limits(d, folder):
    for i in range(3):
        check("view %d of 3" % i, put(d, "v%d" % i)[0], 204)
    check("one too many", refused(put(d, "v3")), (413, "there are 3 shared views; views_max is 3"))
    check("one of them may change", put(d, "v0", "v=start", "PUT")[0], 204)


def main():
    with Daemon(workers=2) as d:
        folder = d.data + "/views"
        for test in (life, names, by_hand, at_once):
            test(d, folder)
        put(d, "kept")
        d.restart()
        check("after a restart", views(d), {"kept": ADDRESS})
    with tempfile.TemporaryDirectory(prefix="tsd-views.") as base:
        folder = base + "/for/people"
        with Daemon(workers=1, views_folder=folder, views_max="3") as d:
            limits(d, folder)
            holds("not in the data folder", not os.path.exists(d.data + "/views"))
        with Daemon(workers=1, views_folder=folder, mode="ro") as d:
            check("mode = ro lists", ask(d, "GET", PATH)[1]["writable"], False)
            check("mode = ro saves nothing", (refused(put(d, "a")), refused(remove(d, "v0"))), ((403, "this daemon changes nothing: mode is ro"),) * 2)
            check("they are there", len(ask(d, "GET", PATH)[1]["views"]), 3)
        with Daemon(workers=1, views_folder=folder, mode="wo") as d:
            check("mode = wo has no views", ask(d, "GET", PATH)[0], 404)
        with Daemon(workers=1, views_folder=folder, views_max="0") as d:
            check("views_max = 0", (ask(d, "GET", PATH)[1]["writable"], put(d, "a")[0]), (False, 413))
        with open(base + "/file", "w", encoding="utf-8"):
            pass
        with Daemon(workers=1, views_folder=base + "/file") as d:
            check("a folder that is a file", (ask(d, "GET", PATH)[0], put(d, "a")[0]), (500, 500))
    end("shared views")


if __name__ == "__main__":
    main()
