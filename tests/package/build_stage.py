#!/usr/bin/env python3
"""The first stage of Dockerfile without an engine for containers: its lines are followed in a clean root with the network of this machine.

    build_stage.py OUT.deb     the package that it makes (./check --release; image.py then follows the last stage with it)

COPY brings what git has of this tree, as .dockerignore would leave it: no .git, no build. RUN lines are run as they stand. The root has what the image that FROM
names has: Debian's essential packages and apt, with the sources, proxies and keys of this machine.
"""
import os
import re
import shutil
import subprocess
import sys
import time

import package
from image import instructions
from package import CLEAN, TOP, expect, fail

NETWORK = ("http_proxy", "https_proxy", "no_proxy", "npm_config_registry")


def copy(root, rest):
    """COPY of a file or of the whole tree."""
    source, target = rest.split()
    to = root.path(target)
    if source != ".":
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(TOP + "/" + source, to)
        return
    names = subprocess.run(["git", "-C", TOP, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=True).stdout
    os.makedirs(to, exist_ok=True)
    kept = b"\0".join(n for n in names.split(b"\0") if n and os.path.lexists(os.path.join(TOP.encode(), n)))
    r = subprocess.run(["tar", "-C", TOP, "--null", "-T", "-", "-cf", "-"], input=kept, capture_output=True, check=True)
    subprocess.run(["tar", "-C", to, "-xf", "-"], input=r.stdout, check=True)
    expect("the tree without git and builds", not os.path.exists(to + "/.git") and not os.path.exists(to + "/build"), os.listdir(to))


def network(root):
    """Names, proxies and certificates as this machine has them."""
    for name in ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt"):
        if os.path.exists(name):
            os.makedirs(os.path.dirname(root.path(name)), exist_ok=True)
            shutil.copy(name, root.path(name))
    for name in os.listdir("/etc/apt/apt.conf.d"):
        if not os.path.exists(root.path("/etc/apt/apt.conf.d/" + name)) and "ocker" not in name:
            shutil.copy("/etc/apt/apt.conf.d/" + name, root.path("/etc/apt/apt.conf.d/"))


def run(root, rest):
    """RUN, with the network; what it prints is shown when it fails."""
    env = dict(CLEAN, **{k: os.environ[k] for k in NETWORK if k in os.environ})
    began = time.monotonic()
    r = subprocess.run(["chroot", root.dir, "/bin/sh", "-c", rest], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, timeout=7200, check=False)
    if r.returncode:
        fail("Dockerfile: RUN %s ended with %d:\n%s" % (rest, r.returncode, r.stdout[-4000:]))
    print("image: RUN %s: %.0f s" % (rest, time.monotonic() - began), flush=True)


def main(out):
    base = instructions(0)[0][1]
    expect("the image that the first stage is made from", re.fullmatch(r"debian:12-slim AS build", base), base)
    root = package.Root(package.archive("apt", ["ca-certificates"]), systemd=False)
    try:
        network(root)
        for word, rest in instructions(0)[1:]:
            if word == "COPY":
                copy(root, rest)
            elif word == "RUN":
                run(root, rest)
            else:
                fail("Dockerfile: %s is not known to this test" % word)
        made = re.search(r"--from=build (\S+) ", " ".join(rest for word, rest in instructions(-1) if word == "COPY")).group(1)
        shutil.copy(root.path(made), out)
    finally:
        root.remove()
    print("image: the first stage made %s, %.1f MB" % (made, os.path.getsize(out) / 1e6))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if os.geteuid() != 0:
        fail("needs root, for a file system of its own")
    if not os.environ.get("TSD_PACKAGE_INSIDE"):
        package.archive("apt", ["ca-certificates"])
        os.execvpe("unshare", ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, os.path.abspath(__file__),
                               os.path.abspath(sys.argv[1])], dict(os.environ, TSD_PACKAGE_INSIDE="1"))
    main(sys.argv[1])
