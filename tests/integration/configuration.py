#!/usr/bin/env python3
"""docs/CONFIGURATION.md is what the program prints about its configuration keys.

    configuration.py [--accept]     --accept writes the page anew
"""
import re
import subprocess
import sys

from tsdtest import ROOT, binary

PAGE = ROOT + "/docs/CONFIGURATION.md"
HEAD = """# Configuration keys

Every key of tsd, with its values and its default. `tsd serve --print-config` prints the same with the present values, `man tsd.conf` shows it too. This page is written by
`tests/integration/configuration.py --accept` from what the program prints, and a test compares both.

A key is given in a file (`key = value`, `--config FILE`; the Debian package's services read `/etc/tsd.conf`), in the environment (`TSD_KEY=value`, in capitals) or as an option (`--key value`, with `-` for
`_`). An option wins over the environment, the environment over the file. A change takes effect when the program is started again. An unknown key or a value out of range is refused at the start. OPERATIONS.md,
"Configuration", says which keys are set most often, and "Limits" there what happens above each limit.
"""
SECTIONS = (("Keys of tsd serve", "The daemon reads these keys."),
            ("Keys of tsd collect", "The collectors read these keys: `tsd collect`, and the daemon itself with `--collect`."))


def printed(command):
    """[(key, meaning, values, default)] in the order of --print-config."""
    r = subprocess.run([binary(), command, "--print-config"], env={}, capture_output=True, text=True, check=True)
    rows = []
    for block in r.stdout.strip().split("\n\n"):
        lines = block.split("\n")
        key = re.match(r"([a-z0-9_]+) =", lines[-1]).group(1)
        notes = [line.removeprefix("#").strip() for line in lines[:-1]]
        at = max(i for i, note in enumerate(notes) if "default " in note)  # its last line, of values and default
        values, default = " ".join(notes[at:]).rsplit("; default ", 1)
        rows.append((key, " ".join(notes[:at]), values, "" if default == "empty" else default))
    return rows


def cell(text):
    """A text as the cell of a table."""
    return re.sub(r"([|*<\\])", r"\\\1", text)


def table(rows):
    """Markdown of one section's rows."""
    out = "| Key | Meaning | Values | Default |\n|---|---|---|---|\n"
    for key, meaning, values, default in rows:
        out += "| `%s` | %s | %s | %s |\n" % (key, cell(meaning), cell(values), "`%s`" % default.replace("|", r"\|") if default else "empty")
    return out


def page():
    """The whole page."""
    collect = printed("collect")
    own = {row[0] for row in collect}
    daemon = [row for row in printed("serve") if row[0] not in own]
    if len(daemon) < 100 or len(collect) < 40:
        sys.exit("configuration: only %d and %d keys were printed" % (len(daemon), len(collect)))
    out = HEAD
    for (title, text), rows in zip(SECTIONS, (daemon, collect)):
        out += "\n## %s\n\n%s\n\n%s" % (title, text, table(rows))
    return out


def main():
    want = page()
    if sys.argv[1:] == ["--accept"]:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(want)
        return 0
    with open(PAGE, encoding="utf-8") as f:
        got = f.read()
    if got != want:
        old, new = got.split("\n"), want.split("\n")
        print("docs/CONFIGURATION.md is not what the program prints; write it anew: tests/integration/configuration.py --accept")
        print("\n".join(["- " + line for line in old if line not in new] + ["+ " + line for line in new if line not in old]))
        return 1
    print("configuration: the page is what the program prints")
    return 0


if __name__ == "__main__":
    sys.exit(main())
