#!/usr/bin/env python3
"""The web page as a client gets it: every file in both encodings, entity tags, headers, sizes; nothing in the files that leads elsewhere or needs
more than the Content-Security-Policy allows."""
import gzip
import http.client
import json
import os
import re

from metakit import check, end, holds
from tsdtest import ROOT, Daemon

WWW = ROOT + "/tsd/page/www"
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'")
TYPES = {"html": "text/html; charset=UTF-8", "js": "text/javascript; charset=UTF-8", "css": "text/css; charset=UTF-8", "svg": "image/svg+xml",
         "txt": "text/plain; charset=UTF-8"}
UPLOT = ("uplot.js", "uplot.css", "uplot-licence.txt")  # not ours, and loaded with the first graph
MAX_ALL, MAX_FIRST = 100 << 10, 60 << 10


def get(d, path, method="GET", **headers):
    """(status, headers, body)"""
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=60)
    c.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    r = c.getresponse()
    body = r.read()
    c.close()
    return r.status, r.headers, body


def served(d, path, name):
    """A file in all forms; returns (text, compressed size)."""
    status, head, plain = get(d, path)
    check(name, (status, head["Content-Type"], head["Content-Encoding"]), (200, TYPES[name.rsplit(".", 1)[1]], None))
    check(name + " headers", (head["Content-Security-Policy"], head["X-Content-Type-Options"], head["Referrer-Policy"], head["Cache-Control"], head["Vary"]),
          (POLICY, "nosniff", "no-referrer", "no-cache", "Accept-Encoding"))
    check(name + " length", head["Content-Length"], str(len(plain)))
    tag = head["ETag"]
    holds(name + " tag", re.fullmatch(r'"[0-9a-f]{20}"', tag), tag)
    status, head, packed = get(d, path, Accept_Encoding="gzip")
    check(name + " compressed", (status, head["Content-Encoding"], gzip.decompress(packed) == plain), (200, "gzip", True))
    tag_gzip = head["ETag"]
    holds(name + " tags of two forms", tag_gzip != tag, tag_gzip)
    for header in (tag, tag_gzip, "W/" + tag, '"0123", %s' % tag_gzip, "*"):
        status, head, body = get(d, path, If_None_Match=header, Accept_Encoding="gzip")
        check("%s if not %s" % (name, header), (status, head["ETag"], head["Content-Length"], head["Transfer-Encoding"], body), (304, tag_gzip, None, None, b""))
    check(name + " if not another", get(d, path, If_None_Match='"0123456789abcdef0123"')[0], 200)
    status, head, body = get(d, path, method="HEAD", Accept_Encoding="gzip")
    check(name + " HEAD", (status, head["Content-Length"], body), (200, str(len(packed)), b""))
    return plain.decode(), len(packed)


def harmless(name, text):
    """Nothing in a file of ours leads away from the page or is forbidden by the policy."""
    for pattern, what in ((r'(?:href|src|action|srcset)\s*=\s*["\']?/', "an absolute path"), (r'(?:fetch|import|get|post|send|getText)\(\s*["\'`]/', "an absolute path"),
                          (r"\bimport\b[^;]*[\"']/", "an absolute path"), (r"url\(\s*[\"']?(?!data:)", "an address in a style"),
                          (r"\.(?:innerHTML|outerHTML|insertAdjacentHTML)\b|document\.write\b|\beval\(|new Function\b", "HTML or code made of text")):
        found = re.search(pattern, text)
        holds("%s has %s" % (name, what), not found, found and found.group(0))
    others = [u for u in re.findall(r"https?://[^\s\"'`)]*", text) if not u.startswith("http://www.w3.org/")]
    check(name + " names other places", others, [])
    if name.endswith(".html"):
        holds(name + " has handlers, styles or scripts inside", not re.search(r"\son\w+\s*=|\sstyle\s*=|<style|<script(?![^>]*\ssrc=)", text), text)


def before_graph(d, names):
    """What a browser loads before it draws: the page, what that names, the views Start and Explore, and what these import at once."""
    wanted, found = ["index.html", "boot.js", "main.js", "start.js", "explore.js"], set()
    while wanted:
        name = wanted.pop()
        if name in found or name not in names:
            continue
        found.add(name)
        text = get(d, "/s/" + name)[2].decode() if name.endswith((".js", ".html")) else ""
        wanted += re.findall(r'from\s*"\./([^"]+)"', text) + re.findall(r'(?:href|src)="s/([^"]+)"', text)
    return found - {"uplot-licence.txt"}  # a link in the foot


def imported(d, name, found):
    """Adds what a module imports at once, and what that imports, in the order in which they are found."""
    for other in re.findall(r'from\s*"\./([^"]+)\.js"', get(d, "/s/%s.js" % name)[2].decode()):
        if other not in found:
            found.append(other)
            imported(d, other, found)
    return found


def asked_ahead(d):
    """boot.js asks for exactly what main.js and each of its views import."""
    boot, frame = (get(d, "/s/" + name)[2].decode() for name in ("boot.js", "main.js"))
    first = re.search(r'MAIN\s*=\s*"([^"]*)"', boot).group(1).split()
    check("boot.js, MAIN", first, imported(d, "main", []))
    views = {view: files.split() for view, files in re.findall(r'(\w+):\s*"([^"]*)"', boot)}
    check("boot.js, views", sorted(views), sorted(re.findall(r'\["(\w+)",\s*"[A-Z]\w+"\]', frame)))
    for view, files in views.items():
        check("boot.js, " + view, files, [f for f in imported(d, view, []) if f not in first])


def main():
    with Daemon(workers=2) as d:
        names = sorted(os.listdir(WWW)) + list(UPLOT) + ["files.js"]
        sizes = {}
        for name in names:
            text, sizes[name] = served(d, "/s/" + name, name)
            if name not in UPLOT:
                harmless(name, text)
            if name == "files.js":
                listed = json.loads(re.fullmatch(r"export default (.*);\n", text).group(1))
                check("list of files", listed, sorted(n for n in names if n != "files.js"))
        check("page", served(d, "/", "index.html")[0], served(d, "/s/index.html", "index.html")[0])
        check("page by an older path", get(d, "/index.html")[0], 404)
        check("unknown file", get(d, "/s/nothing.js")[0], 404)
        check("no way out", get(d, "/s/../page.c")[0], 400)
        check("a changing method", get(d, "/s/main.js", method="POST")[0], 405)
        loaded = set(re.findall(r'(?:href|src)="s/([^"]+)"', get(d, "/")[2].decode()))
        holds("what the page loads is there", loaded <= set(names), loaded)
        for name in names:
            if name.endswith(".js") and name not in UPLOT:
                needed = set(re.findall(r'(?:from|import\()\s*"\./([^"]+)"', get(d, "/s/" + name)[2].decode()))
                holds("what %s imports is there" % name, needed <= set(names), needed - set(names))
        asked_ahead(d)
        everything, first = sum(sizes.values()), sum(sizes[name] for name in before_graph(d, names))
        print("compressed: %d bytes in all, %d before the first graph" % (everything, first))
        holds("size of all files", everything <= MAX_ALL, everything)
        holds("size before the first graph", first <= MAX_FIRST, first)
    with Daemon(workers=1, http_gzip="false") as d:
        status, head, body = get(d, "/s/main.js", Accept_Encoding="gzip")
        check("http_gzip = false", (status, head["Content-Encoding"], body[:2] == b"\x1f\x8b"), (200, None, False))
    with Daemon(workers=1, mode="wo") as d:
        check("mode = wo has no page", (get(d, "/")[0], get(d, "/s/main.js")[0]), (404, 404))
    end("page")


if __name__ == "__main__":
    main()
