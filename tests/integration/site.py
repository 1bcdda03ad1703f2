#!/usr/bin/env python3
"""scripts/site makes a page of every document, without a link or picture that is missing; and it refuses what is wrong.

Skipped (77) where cmark-gfm is missing.
"""
import glob
import html.parser
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
failures = []


def check(what, ok, got=""):
    if not ok:
        failures.append(what)
        print("FAILED %s: %s" % (what, got))


class Reader(html.parser.HTMLParser):
    """Ids, links, pictures and text of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.images, self.text, self.scripts = set(), [], [], "", 0
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            check("an id occurs once", attrs["id"] not in self.ids, attrs["id"])
            self.ids.add(attrs["id"])
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        if tag == "img":
            self.images.append(attrs["src"])
        self.scripts += tag == "script"

    def handle_data(self, data):
        self.text += data


def site(root, *words):
    return subprocess.run([root + "/scripts/site", *words], capture_output=True, text=True, timeout=300, check=False)


def whole(folder):
    """Every page, link and picture of the tree's site."""
    r = site(ROOT, folder)
    check("scripts/site", r.returncode == 0, r.stderr)
    pages = {os.path.basename(path): Reader(path) for path in glob.glob(folder + "/*.html")}
    want = {os.path.basename(p)[:-3].lower() + ".html" for p in glob.glob(ROOT + "/docs/*.md")} | {"index.html", "api.html", "changelog.html", "contributing.html"}
    check("a page of every document", set(pages) == want, set(pages) ^ want)
    for name, page in pages.items():
        check(name + " has no script", not page.scripts)
        check(name + " leads to every page", want - {name} <= {link.split("#")[0] for link in page.links}, want - set(page.links))
        for link in page.links:
            file, _, anchor = link.partition("#")
            if ":" in file:
                continue
            check("%s: the link %s" % (name, link), os.path.exists(os.path.join(folder, file or name)))
            check("%s: the section %s" % (name, link), not anchor or anchor in pages[file or name].ids)
        for image in page.images:
            check("%s: the picture %s" % (name, image), os.path.exists(os.path.join(folder, image)) and os.path.getsize(os.path.join(folder, image)) > 100)
    check("mentions are links", sum(1 for link in pages["operations.html"].links if link.startswith("query.html#")) >= 1)
    check("commands and their answers", "tsd query 2026/11/01 2026/11/04 sum web.hits --by day" in pages["index.html"].text)
    check("paths of the API", all(path in pages["api.html"].text for path in ("/api/put", "/api/query/gexp", "/api/tsd/status")))
    check("rows of tables", "query_max_points" in pages["configuration.html"].text)


def refusals(base):
    """A document in no group, a broken link, a mention of a section that does not exist, a folder that holds something else."""
    tree = base + "/tree"
    shutil.copytree(ROOT + "/docs", tree + "/docs")
    shutil.copytree(ROOT + "/scripts", tree + "/scripts")
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT + "/" + name, tree)
    with open(tree + "/docs/%s.md" % "NEWPAGE", "w", encoding="utf-8") as f:
        f.write("# New\n")
    with open(tree + "/docs/HOWTO.md", "a", encoding="utf-8") as f:
        f.write('\n[x](%s.md), [y](TUTORIAL.md#no-such-part), see docs/QUERY.md,\n"No Such Section". ![z](pictures/none.png)\n' % "NOWHERE")
    r = site(tree, base + "/bad")
    check("it ends with 1", r.returncode == 1, r.returncode)
    for word in ("docs/NEWPAGE" + ".md is in no group", "links to NOWHERE" + ".md", "tutorial.html#no-such-part", '"No Such Section"', "docs/pictures/none.png"):
        check("it says " + word, word in r.stderr, r.stderr)
    os.makedirs(base + "/other")
    with open(base + "/other/precious", "w", encoding="ascii"):
        pass
    r = site(ROOT, base + "/other")
    check("a folder with something else stays", r.returncode == 1 and os.path.exists(base + "/other/precious"), r.stderr)


def main():
    if not shutil.which("cmark-gfm"):
        print("site: cmark-gfm is missing (scripts/setup test)")
        return 77
    base = tempfile.mkdtemp(prefix="tsd-site.")
    try:
        whole(base + "/site")
        refusals(base)
    finally:
        shutil.rmtree(base)
    print("site: %s" % ("fine" if not failures else "%d failures" % len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
