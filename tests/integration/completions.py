#!/usr/bin/env python3
"""The completions of bash, zsh and fish in these shells: commands, options, and names of metrics and tags from a daemon.

zsh and fish are driven as a person drives them, by the key Tab; a shell that is not installed is left out, but not where ./check installs it. Skipped (77) without both.
"""
import os
import pty
import select
import shutil
import subprocess
import sys
import time

from tsdtest import Daemon, binary

POINTS = ("web.hits 1793620800 1 domain=example.org host=web1", "web.bytes 1793620800 1 domain=example.net host=web2", "sys.load1 1793620800 1 host=db1")
# What is typed, and all candidates for its last word, in any order.
CASES = (
    ("tsd que", ["query"]),
    ("tsd co", ["copy", "collect", "compact", "completion"]),
    ("tsd query 1h-ago sum web.", ["web.bytes", "web.hits"]),
    ("tsd query 1h-ago sum web.h", ["web.hits"]),
    ("tsd query 1h-ago sum web.hits ", ["domain=", "host="]),
    ("tsd query 1h-ago sum web.hits domain=", ["domain=example.org"]),
    ("tsd query 1h-ago sum web.hits domain=exa", ["domain=example.org"]),
    ("tsd query --format nd", ["ndjson", "ndjson-points"]),
    ("tsd query --explai", ["--explain"]),
    ("tsd metric sh", ["show"]),
    ("tsd nothing x", []),
    ("tsd import poi", ["points.txt"]),
    ("tsd serve --data dat", ["data/"]),
)
# What a line becomes by Tab where there is one candidate.
TYPED = (
    ("tsd que", "tsd query "),
    ("tsd query 1h-ago sum web.h", "tsd query 1h-ago sum web.hits "),
    ("tsd query 1h-ago sum web.hits dom", "tsd query 1h-ago sum web.hits domain="),
    ("tsd query 1h-ago sum web.hits domain=", "tsd query 1h-ago sum web.hits domain=example.org "),
    ("tsd import poi", "tsd import points.txt "),
    ("tsd nothing x", "tsd nothing x"),
)
ZSHRC = r'''
autoload -Uz compinit; compinit -u -D
unsetopt beep menu_complete; setopt no_auto_remove_slash
bindkey -e; bindkey '^I' complete-word
zstyle ':completion:*' completer _complete
source <(tsd completion zsh)
shown() { print -r -- "[$BUFFER]" >>$OUT; BUFFER=; CURSOR=0 }
zle -N shown; bindkey '^Xs' shown
functions[_tsd_own]=$functions[_tsd]
compadd() { local -a hits; builtin compadd -O hits "$@"; (( $#hits )) && print -rl -- $hits >>$OUT.all; builtin compadd "$@" }
precmd() { print ready >$OUT.ready }
'''
failures = []


def check(what, got, want):
    if got != want:
        failures.append(what)
        print("FAILED %s: %r instead of %r" % (what, got, want))


class Terminal:
    """A shell in a terminal of its own; what it draws is read and thrown away."""

    def __init__(self, argv, env, cwd):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(argv[0], argv, env)

    def drain(self):
        while select.select([self.fd], [], [], 0.01)[0]:
            try:
                os.read(self.fd, 65536)
            except OSError:
                return

    def wait_for(self, what, test, seconds=120):
        limit = time.monotonic() + seconds
        while not (got := test()):
            self.drain()
            if time.monotonic() > limit:
                sys.exit("%s: not within %d s" % (what, seconds))
        return got

    def type(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def settled(offer, want):
    """What is offered; asked again a few times if it is something else, since a completion that takes too long on a busy machine offers more."""
    for _ in range(5):
        got = offer()
        if got == want:
            break
    return got


def lines(path):
    """The lines of a file, none if it does not exist."""
    try:
        with open(path, encoding="utf-8") as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


def bash(env, cwd):
    """Candidates by the function that bash calls; bash completes what stands behind the last =."""
    script = 'compopt() { :; }; source <(tsd completion bash); COMP_LINE=$1 COMP_POINT=${#1}; _tsd; printf "%s\\n" "${COMPREPLY[@]}"'
    for line, want in CASES:
        if want and want[0] in ("points.txt", "data/"):
            want = []  # bash's own completion of files follows
        want = sorted(w.split("=")[1] if "=" in line and "=" in w else w for w in want)
        argv = ["bash", "--norc", "-c", script, "bash", line]
        check("bash: " + line, settled(lambda a=argv: sorted(subprocess.run(a, env=env, cwd=cwd, capture_output=True, text=True, check=False, timeout=120).stdout.split()), want), want)


def fish(env, cwd):
    """Candidates by fish's own way to ask for them."""
    for line, want in CASES:
        script = 'tsd completion fish | source; complete -C "%s"' % line
        r = subprocess.run(["fish", "--no-config", "-c", script], env=env, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)
        check("fish: " + line, sorted(row.split("\t")[0] for row in r.stdout.splitlines()), sorted(want))
        check("fish says nothing: " + line, r.stderr, "")


def zsh(env, cwd):
    """Tab in an interactive zsh: all that is offered, and what becomes of the line."""
    out = cwd + "/zsh.out"
    with open(cwd + "/.zshrc", "w", encoding="utf-8") as f:
        f.write(ZSHRC)
    t = Terminal(["zsh", "-d", "-i"], dict(env, ZDOTDIR=cwd, OUT=out), cwd)

    def typed(line):
        if os.path.exists(out + ".all"):
            os.remove(out + ".all")
        n = len(lines(out))
        t.type(line + "\t\x18s")
        t.wait_for("zsh: " + line, lambda: len(lines(out)) > n)
        return sorted(set(lines(out + ".all")))

    def tabbed(line):
        n = len(lines(out))
        t.type(line + "\t\x18s")
        t.wait_for("zsh: " + line, lambda: len(lines(out)) > n)
        return lines(out)[n]

    try:
        t.wait_for("zsh is ready", lambda: lines(out + ".ready"))
        for line, want in CASES:
            want = sorted(w.rstrip("/") for w in want)
            check("zsh: " + line, settled(lambda l=line: typed(l), want), want)
        for line, want in TYPED:
            want = "[%s]" % want
            check("zsh, Tab: " + line, settled(lambda l=line: tabbed(l), want), want)
    finally:
        t.close()


def main():
    have = [name for name in ("zsh", "fish") if shutil.which(name)]
    if not have:
        print("completions: neither zsh nor fish is installed (scripts/setup test)")
        return 77
    with Daemon(workers=2) as d:
        d.send("".join("put %s\n" % p for p in POINTS))
        d.sync()
        bin_dir = d.base + "/bin"
        os.mkdir(bin_dir)
        os.symlink(binary(), bin_dir + "/tsd")
        cwd = d.base + "/work"
        os.makedirs(cwd + "/data")
        with open(cwd + "/points.txt", "w", encoding="ascii"):
            pass
        env = {"PATH": bin_dir + ":" + os.environ["PATH"], "HOME": cwd, "TERM": "xterm", "LANG": "C.UTF-8", "TSD_PORT": str(d.port), "XDG_CONFIG_HOME": cwd, "XDG_DATA_HOME": cwd}
        bash(env, cwd)
        if "fish" in have:
            fish(env, cwd)
        if "zsh" in have:
            zsh(env, cwd)
    print("completions of bash %s: %s" % (" ".join(have), "fine" if not failures else "%d different" % len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
