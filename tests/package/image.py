#!/usr/bin/env python3
"""The image of Dockerfile without an engine for containers: its last stage is followed in a clean root, and its command runs there.

    image.py PACKAGE.deb     (./check --package)

RUN lines are run as they stand, but for the one that brings packages by apt: dpkg installs the package, its dependencies are in the root
already. Then ENTRYPOINT and CMD run as USER with ENV, the health check is asked while the daemon runs and after it ended, points are
written and queried, and survive a second container over the same VOLUME.
"""
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

import package
from package import CLEAN, TOP, expect, fail


def instructions(number):
    """The instructions of a stage of Dockerfile, -1 for the last one, as (word, rest); with FROM."""
    with open(TOP + "/Dockerfile", encoding="utf-8") as f:
        lines = [line.strip() for line in f if line.strip() and not line.startswith("#")]
    rows = [tuple(line.split(None, 1)) for line in lines]
    starts = [i for i, (word, _) in enumerate(rows) if word == "FROM"] + [len(rows)]
    number %= len(starts) - 1
    return rows[starts[number]:starts[number + 1]]


class Image:
    """What the instructions make of a root."""

    def __init__(self, root, deb):
        self.root, self.env, self.user, self.entrypoint, self.cmd, self.health, self.volume, self.ports = root, dict(CLEAN), None, [], [], [], None, []
        for word, rest in instructions(-1)[1:]:
            if word == "COPY":
                shutil.copy(deb, root.path(rest.split()[-1]))
            elif word == "RUN":
                root.run("dpkg -i /tmp/tsd.deb && rm /tmp/tsd.deb" if "apt-get" in rest else rest)
            elif word == "ENV":
                self.env.update(part.split("=", 1) for part in shlex.split(rest))
            elif word == "HEALTHCHECK":
                self.health = json.loads(rest[rest.index("CMD") + 3:])
            elif word in ("ENTRYPOINT", "CMD"):
                setattr(self, word.lower(), json.loads(rest))
            elif word == "USER":
                self.user = rest
            elif word == "VOLUME":
                self.volume = rest
            elif word == "EXPOSE":
                self.ports.append(int(rest))
            else:
                fail("Dockerfile: %s is not known to this test" % word)

    def argv(self, words):
        """The words as the user of the image, in the root."""
        return ["chroot", "--userspec=" + self.user, self.root.dir, *words]

    def run(self, *words, text=None):
        return subprocess.run(self.argv(words), env=self.env, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)

    def start(self):
        p = subprocess.Popen(self.argv(self.entrypoint + self.cmd), env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        limit = time.monotonic() + 120
        while self.run(*self.health).returncode:
            if p.poll() is not None or time.monotonic() > limit:
                p.kill()
                fail("the image's command did not become healthy: %s" % p.communicate()[0])
            time.sleep(0.05)
        return p


def stop(p):
    """As docker stop does; what the daemon has said."""
    p.terminate()
    text = p.communicate(timeout=120)[0]
    expect("docker stop ends the daemon", p.returncode == 0, text)
    return text


def main(deb):
    root = package.Root(package.base_root(deb), systemd=False)
    try:
        image = Image(root, deb)
        user = root.run("id -u " + image.user).stdout.strip()
        expect("the user", user == "4242", user)
        expect("the volume belongs to it", os.stat(root.path(image.volume)).st_uid == 4242, image.volume)
        expect("not healthy before the start", image.run(*image.health).returncode != 0)
        p = image.start()
        uids = open("/proc/%d/status" % p.pid, encoding="utf-8").read().split("Uid:")[1].split()[:4]
        expect("the daemon's user", uids == ["4242"] * 4, uids)
        listening = open("/proc/%d/net/tcp" % p.pid, encoding="ascii").read()
        expect("it listens on every address", all(" 00000000:%04X " % port in listening for port in image.ports), listening)
        r = image.run("tsd", "import", "-", text="web.hits 1793620800 3 domain=example.org\n")
        expect("import", r.returncode == 0, r.stdout)
        stop(p)
        expect("not healthy after the end", image.run(*image.health).returncode != 0)
        image.env["TSD_TIMEZONE"] = "Europe/Berlin"  # keys come from the environment
        p = image.start()
        r = image.run("tsd", "query", "2026/11/02", "2026/11/02", "sum", "web.hits", "--by", "hour", "--format", "csv")
        expect("the point is there", r.stdout.split() == ["date,hour,web.hits", "2026-11-02,13,3"], r.stdout)
        stop(p)
    finally:
        root.remove()
    print("image: started, used, stopped, started again as %s" % image.user)


if __name__ == "__main__":
    package.inside(__file__, sys.argv[1:], 1, __doc__)
    main(sys.argv[1])
