#!/usr/bin/env python3
"""The program of scripts/static in a root that holds nothing but its archive: no library, no shell, no other file.

    static.py ARCHIVE.tar.gz     (./check --release)

The daemon starts there, takes points, answers by lines and HTTP, draws in the terminal, is checked, stopped and started again; the units and the configuration name what
the archive holds. With /usr/share/zoneinfo and /etc/hosts of this machine, zones and names of hosts work too.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import package
from package import CLEAN, expect, fail

PROGRAM = "/usr/local/bin/tsd"


class Empty:
    """A root with the archive alone."""

    def __init__(self, archive):
        self.dir = tempfile.mkdtemp(prefix="tsd-static.")
        os.chmod(self.dir, 0o755)
        package.sh("tar", "-C", self.dir, "-xzf", archive)
        for name in ("proc", "tmp", "data"):
            os.mkdir(self.dir + "/" + name)
        package.sh("mount", "-t", "proc", "proc", self.dir + "/proc")
        self.daemon = None

    def remove(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.kill()
            self.daemon.wait()
        package.sh("umount", "-l", self.dir + "/proc")
        shutil.rmtree(self.dir)

    def run(self, *words, text=None, ok=True):
        r = subprocess.run(["chroot", self.dir, PROGRAM, *words], env=CLEAN, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        if ok and r.returncode:
            fail("tsd %s ended with %d: %s" % (" ".join(words), r.returncode, r.stdout))
        return r.stdout

    def start(self):
        self.daemon = subprocess.Popen(["chroot", self.dir, PROGRAM, "serve", "--data", "/data"], env=CLEAN, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
        limit = time.monotonic() + 60
        while not self.run("check", ok=False).startswith("TSD OK"):
            if self.daemon.poll() is not None or time.monotonic() > limit:
                self.daemon.kill()
                fail("the daemon does not answer: " + self.daemon.communicate()[0])
            time.sleep(0.05)

    def stop(self):
        self.daemon.terminate()
        said = self.daemon.communicate(timeout=120)[0]
        expect("the daemon ends in order", self.daemon.returncode == 0, said)


def main(archive):
    root = Empty(archive)
    try:
        libraries = [os.path.join(at, name) for at, _, names in os.walk(root.dir) for name in names if ".so" in name and not at.startswith(root.dir + "/proc")]
        expect("the archive holds no library", not libraries, libraries)
        for unit in ("tsd", "tsd-collect"):
            with open("%s/usr/local/lib/systemd/system/%s.service" % (root.dir, unit), encoding="utf-8") as f:
                started = re.search(r"^ExecStart=(\S+)", f.read(), re.M).group(1)
            expect("%s.service starts the program" % unit, started == PROGRAM, started)
        for name in ("/etc/tsd.conf", "/usr/local/share/man/man1/tsd-query.1", "/usr/local/share/doc/tsd/LICENSE.CRoaring", "/usr/local/share/doc/tsd/docs/TUTORIAL.md"):
            expect("the archive has " + name, any(os.path.exists(root.dir + name + end) for end in ("", ".gz")), os.listdir(root.dir))
        expect("its version", root.run("version").startswith("tsd "), root.run("version"))
        root.start()
        root.run("import", "-", text="web.hits 1793620800 3 domain=example.org\nweb.hits 1793624400 4 domain=exämple.org\n")
        days = ("2026/11/02", "2026/11/02")
        got = root.run("query", *days, "sum", "web.hits", "--by", "day", "--format", "csv")
        expect("totals", got.split() == ["date,web.hits", "2026-11-02,7"], got)
        got = root.run("query", *days, "sum", "web.hits", "domain=iliteral_or(EXÄMPLE.org)", "--by", "domain", "--format", "csv")
        expect("a filter that ignores case in all alphabets", got.split() == ["domain,web.hits", "exämple.org,4"], got)
        got = root.run("query", *days, "sum", "web.hits", "domain=regexp(^ex.*e)", "--by", "day", "--format", "csv")
        expect("a regular expression", got.split()[-1] == "2026-11-02,7", got)
        expect("a graph", "web.hits" in root.run("query", *days, "sum", "web.hits", "--by", "hour", "--plot", "-"))
        root.run("flush", "--compact")
        root.stop()
        root.start()
        expect("the points are there again", "3 {domain=example.org}" in root.run("last", "web.hits", "domain=example.org"))
        os.makedirs(root.dir + "/usr/share")
        shutil.copytree("/usr/share/zoneinfo", root.dir + "/usr/share/zoneinfo", symlinks=True)
        with open(root.dir + "/etc/hosts", "w", encoding="ascii") as f:
            f.write("127.0.0.1 localhost\n")
        root.stop()
        root.start()
        got = root.run("query", *days, "sum", "web.hits", "--by", "hour", "--tz", "Europe/Berlin", "--format", "csv", "--host", "localhost")
        expect("zones, and names of hosts", got.split() == ["date,hour,web.hits", "2026-11-02,13,3", "2026-11-02,14,4"], got)
        expect("collectors", "proc.loadavg.1min" in root.run("collect", "--once", "--format", "text", "--only", "load"))
        root.stop()
    finally:
        root.remove()
    print("static: a root of one program: started, used, stopped, started again")


def inside(argv):
    """Go on in namespaces of mounts, network and processes."""
    if len(argv) != 1:
        sys.exit(__doc__)
    if os.geteuid() != 0:
        fail("needs root, for a file system of its own")
    if not os.environ.get("TSD_PACKAGE_INSIDE"):
        os.execvpe("unshare", ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
                               sys.executable, os.path.abspath(__file__), os.path.abspath(argv[0])], dict(os.environ, TSD_PACKAGE_INSIDE="1"))


if __name__ == "__main__":
    inside(sys.argv[1:])
    main(sys.argv[1])
