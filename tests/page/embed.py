#!/usr/bin/env python3
"""What tsd/page/embed.py leaves out of modules and style sheets: comments and blanks, never a line, a text or a regular expression. With NODE, all modules are still JavaScript."""
import importlib.util
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "tsd", "page")
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
from metakit import check, end  # noqa: E402

SPEC = importlib.util.spec_from_file_location("page_embed", os.path.join(PAGE, "embed.py"))
embed = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(embed)

MODULES = [
    ("let a = b + c;", "let a=b+c;"),
    ("a + +b; a - -b; a++ + b; a + b", "a + +b;a - -b;a++ + b;a+b"),
    ("x ? .5 : y ?? [1, 2]", "x?.5:y??[1,2]"),
    ("f( \"a = b, c\", 'd  +  e', `g = ${h + i} j` )", "f(\"a = b, c\",'d  +  e',`g = ${h + i} j`)"),
    ('"a \\" = b" + c', '"a \\" = b"+c'),
    ("/[\"'`/] = \\/ +/g.test(s) && a / b / c", "/[\"'`/] = \\/ +/g.test(s)&&a / b / c"),
    ("t.replace(/^#/, \"\") || /=|a {2}/.exec(t)", "t.replace(/^#/,\"\")||/=|a {2}/.exec(t)"),
    ("/* one\n * two */\n  a = 1; /* three = four */\n// five = \"six\nb", "\n\na=1;\n\nb"),
    ("\"/* no comment */\" + a", "\"/* no comment */\"+a"),
    ("return { a };\nreturn -1; typeof x === \"y\"", "return{a};\nreturn -1;typeof x===\"y\""),
]
SHEETS = [
    ("a b :hover , p > q { color : red; margin: 0 auto }", "a b :hover,p > q{color :red;margin:0 auto}"),
    ("/* x: y */\n  .a::after { content: \"a: b, c\"; }", "\n.a::after{content:\"a: b, c\";}"),
    (":root { --x: calc(1px + 2px); }\n@media (min-width: 3rem) and (print) {\n  b { c: d }\n}", ":root{--x:calc(1px + 2px);}\n@media (min-width:3rem) and (print){\nb{c:d}\n}"),
]


def refused(name, text):
    """What it says to a file that it cannot shorten."""
    try:
        return embed.shortened(name, text)
    except SystemExit as e:
        return str(e)


def main():
    for name, cases in (("a.js", MODULES), ("a.css", SHEETS)):
        for text, want in cases:
            check("%s: %s" % (name, text), embed.shortened(name, text), want)
    check("a text over two lines", refused("a.js", "a\nb = `c\nd`"), "embed: a.js:2: the text that begins here does not end in its line")
    check("a style without an end", refused("a.css", "a\n{ b: \"c\n }"), "embed: a.css:2: the text that begins here does not end in its line")
    www = os.path.join(PAGE, "www")
    with tempfile.TemporaryDirectory() as folder:
        for name, made in embed.ours(www).items():
            with open(os.path.join(www, name), encoding="utf-8") as f:
                check(name + ": lines", made.decode().count("\n"), f.read().count("\n"))
            if name.endswith(".js") and os.environ.get("NODE"):
                path = os.path.join(folder, name[:-3] + ".mjs")
                with open(path, "wb") as f:
                    f.write(made)
                r = subprocess.run([os.environ["NODE"], "--check", path], capture_output=True, text=True, timeout=60)
                check(name + " is JavaScript", (r.returncode, r.stderr), (0, ""))
    end("page embed")


if __name__ == "__main__":
    main()
