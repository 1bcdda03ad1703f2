#!/usr/bin/env python3
"""The Debian package in a clean root: install, use, configure, upgrade, remove, install again, purge.

    package.py FIRST.deb SECOND.deb     (SECOND has the higher version; ./check --package builds both)

The root is made by mmdebstrap from what apt of this machine uses, once for each list of dependencies, and kept in build/package-root.
Needs root: it runs in namespaces of its own, so the daemon's port collides with nothing. tests/package/systemctl plays systemd.
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CACHE = TOP + "/build/package-root"
CLEAN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"}
UNIT = "tsd.service"


def fail(text):
    sys.exit("package: " + text)


def sh(*argv, ok=True, **more):
    r = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=600, check=False, **more)
    if ok and r.returncode:
        fail("%s ended with %d:\n%s" % (" ".join(argv), r.returncode, r.stdout[-4000:]))
    return r


def lint(deb):
    """lintian has neither errors nor warnings, but for a manual page where the tree has none."""
    argv = ["lintian", "--fail-on", "error,warning", "--tag-display-limit", "0", "--allow-root"]
    if not sh("dpkg-deb", "--fsys-tarfile", deb, ok=False, errors="replace").stdout.count("usr/share/man/"):
        argv += ["--suppress-tags", "no-manual-page"]
    r = sh(*argv, deb, ok=False)
    if r.returncode:
        fail("lintian of %s:\n%s" % (deb, r.stdout))


def base_root(deb):
    """The archive of a minimal Debian with the dependencies of the package; of alternatives the smallest one."""
    return archive("essential", words_of(deb))


def words_of(deb):
    """What the package depends on, and what maintainer scripts and RUN lines call."""
    depends = sh("dpkg-deb", "-f", deb, "Depends").stdout
    words = ["init-system-helpers", "passwd"]  # what maintainer scripts and RUN lines call; every image of Debian has them
    for group in depends.split(","):
        names = [re.sub(r"\(.*\)", "", name).strip() for name in group.split("|")]
        words.append("systemd-standalone-sysusers" if "systemd-standalone-sysusers" in names else names[0])
    return words


def archive(variant, words):
    """The archive of a Debian of this variant of mmdebstrap with these packages, made once."""
    suite = re.search(r"^VERSION_CODENAME=(\w+)", open("/etc/os-release", encoding="utf-8").read(), re.M).group(1)
    sources = [f for f in glob.glob("/etc/apt/sources.list") + glob.glob("/etc/apt/sources.list.d/debian.*") if os.path.getsize(f)]
    path = "%s/%s.tar" % (CACHE, hashlib.sha256(" ".join([suite, variant] + words).encode()).hexdigest()[:16])
    if not os.path.exists(path):
        os.makedirs(CACHE, exist_ok=True)
        began = time.monotonic()
        sh("mmdebstrap", "--variant=" + variant, "--include=" + ",".join(words), suite, path + ".new.tar", *sources)
        os.rename(path + ".new.tar", path)
        print("package: a clean root of %s, made in %.0f s" % (suite, time.monotonic() - began))
    return path


class Root:
    """A folder with a Debian in it."""

    def __init__(self, archive, systemd=True):
        self.dir = tempfile.mkdtemp(prefix="tsd-package.")
        # devices of the archive are left out: those of this machine are mounted
        sh("tar", "-xf", archive, "-C", self.dir, "--exclude=./dev/*")
        for name, kind in (("proc", "proc"), ("sys", "sysfs")):
            sh("mount", "-t", kind, name, self.dir + "/" + name)
        sh("mount", "--rbind", "/dev", self.dir + "/dev")
        if systemd:
            os.makedirs(self.dir + "/run/systemd/system")
            shutil.copy(HERE + "/systemctl", self.dir + "/usr/bin/systemctl")

    def remove(self):
        if os.path.exists(self.path("/run/%s.pid" % UNIT)) and self.pid():
            self.run("systemctl stop " + UNIT)
        for name in ("/dev", "/proc", "/sys"):  # at once, even if a test that failed left a process behind
            sh("umount", "-R", "-l", self.path(name))
        sh("rm", "-rf", "--one-file-system", self.dir)

    def path(self, name):
        return self.dir + name

    def run(self, command, ok=True):
        return sh("chroot", self.dir, "/bin/sh", "-c", command, ok=ok, env=CLEAN)

    def dpkg(self, *argv):
        """What dpkg says; nothing is ever asked."""
        copied = []
        for word in argv:
            if word.endswith(".deb"):
                shutil.copy(word, self.dir + "/tmp/")
                word = "/tmp/" + os.path.basename(word)
            copied.append(word)
        return self.run("dpkg " + " ".join(copied)).stdout

    def pid(self):
        """The daemon's process, or 0."""
        r = self.run("systemctl is-active " + UNIT, ok=False)
        return int(self.run("cat /run/%s.pid" % UNIT).stdout) if r.returncode == 0 else 0

    def wait_ready(self):
        limit = time.monotonic() + 60
        while (r := self.run("tsd uid metrics no.such.metric", ok=False)).stdout.find("no.such.metric") < 0 or "connect" in r.stdout.lower():
            if time.monotonic() > limit or not self.pid():
                fail("the daemon is not ready: %s\n%s" % (r.stdout, self.run("cat /run/%s.out" % UNIT, ok=False).stdout))
            time.sleep(0.05)


def expect(what, ok, got=""):
    if not ok:
        fail("%s: %s" % (what, got))


def expect_total(root, want):
    r = root.run("tsd query 2026/11/02 2026/11/03 sum web.hits --by day --format csv")
    expect("the points", r.stdout.split("\n")[1:3] == ["2026-11-02,%d" % want, ""], r.stdout)


def installed(root, first):
    root.dpkg("-i", first)
    root.wait_ready()
    pid = root.pid()
    status = open("/proc/%d/status" % pid, encoding="utf-8").read()
    uid = int(re.search(r"^Uid:\s+(\d+)", status, re.M).group(1))
    expect("the daemon's user", uid == int(root.run("id -u tsd").stdout) and uid != 0, uid)
    st = os.stat(root.path("/var/lib/tsd"))
    expect("the data folder", (st.st_uid, st.st_mode & 0o777) == (uid, 0o750), st)
    wants = root.path("/etc/systemd/system/multi-user.target.wants/")
    expect("the daemon starts at boot, the collectors only when they are enabled", os.listdir(wants) == [UNIT], os.listdir(wants))
    return pid


def every_key_commented(root):
    """/etc/tsd.conf changes nothing, and without its comment signs before keys it is what the program prints."""
    lines = open(root.path("/etc/tsd.conf"), encoding="utf-8").read().splitlines()
    expect("nothing is set", not [line for line in lines if line and not line.startswith("#")], lines)
    keys = [line[1:] for line in lines if re.match(r"#[a-z_]+ =", line)]
    printed = [line for line in root.run("env -i tsd serve --print-config").stdout.splitlines() if re.match(r"[a-z_]+ =", line)]
    expect("every key of tsd serve", keys == printed and len(keys) > 100, set(printed) ^ set(keys))
    own = re.findall(r"^([a-z_]+) =", root.run("env -i tsd collect --print-config").stdout, re.M)
    expect("every key of tsd collect", set(own) <= {k.split(" =")[0] for k in keys}, own)


def main():
    first, second = sys.argv[1:]
    root = Root(base_root(first))
    try:
        life(root, first, second)
    finally:
        root.remove()


def life(root, first, second):
    pid = installed(root, first)
    every_key_commented(root)
    root.run("printf 'web.hits 1793620800 3 domain=example.org\\n' | tsd import -")
    expect_total(root, 3)

    with open(root.path("/etc/tsd.conf"), "a", encoding="utf-8") as f:
        f.write("retention_days = 36500\n")
    root.dpkg("-i", second)
    root.wait_ready()
    expect("an upgrade restarts the daemon", root.pid() not in (0, pid), root.pid())
    version = root.run("dpkg-query -W -f '${Version}' tsd").stdout
    expect("the version", version == sh("dpkg-deb", "-f", second, "Version").stdout.strip(), version)
    expect("the administrator's configuration stays", "retention_days = 36500\n" in open(root.path("/etc/tsd.conf"), encoding="utf-8"))
    expect_total(root, 3)
    root.run("printf 'web.hits 1793620801 4 domain=example.org\\n' | tsd import -")

    root.run("systemctl stop %s; systemctl disable %s" % (UNIT, UNIT))
    root.dpkg("-i", second)
    expect("a daemon that was disabled stays so", root.pid() == 0, root.pid())
    root.run("systemctl enable %s; systemctl start %s" % (UNIT, UNIT))
    root.wait_ready()

    root.dpkg("-r", "tsd")
    expect("removing stops the daemon", root.pid() == 0, root.pid())
    expect("removing keeps the configuration", os.path.exists(root.path("/etc/tsd.conf")))
    expect("the program is gone", not os.path.exists(root.path("/usr/bin/tsd")))
    root.dpkg("-i", first)
    root.wait_ready()
    expect_total(root, 7)

    said = root.dpkg("-P", "tsd")
    expect("purge says where the data is", "/var/lib/tsd keeps its data" in said, said)
    expect("purge stops the daemon", root.pid() == 0, root.pid())
    expect("the data stays", os.path.exists(root.path("/var/lib/tsd/manifest")) or os.listdir(root.path("/var/lib/tsd")))
    left = [f for f in glob.glob(root.path("/etc/**/*tsd*"), recursive=True)] + glob.glob(root.path("/usr/**/*tsd*"), recursive=True)
    expect("purge leaves nothing else", not left, left)
    print("package: installed, upgraded, removed and purged")


def inside(script, argv, n, usage):
    """Go on in namespaces of mounts, network and processes; before, what takes the network of this machine."""
    if len(argv) != n:
        sys.exit(usage)
    if os.geteuid() != 0:
        fail("needs root, for a file system of its own")
    if os.environ.get("TSD_PACKAGE_INSIDE"):
        return
    base_root(argv[0])
    os.execvpe("unshare", ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
                           'ip link set lo up && exec "$@"', "sh", sys.executable, os.path.abspath(script)] + [os.path.abspath(a) for a in argv],
               dict(os.environ, TSD_PACKAGE_INSIDE="1"))


if __name__ == "__main__":
    if len(sys.argv) == 3 and not os.environ.get("TSD_PACKAGE_INSIDE"):
        lint(sys.argv[2])
    inside(__file__, sys.argv[1:], 2, __doc__)
    main()
