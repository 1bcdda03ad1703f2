#!/usr/bin/env python3
"""The systemd units of dist/: systemd reads them without a complaint, and they are sandboxed. Ends with 77 without systemd-analyze."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tsdtest import ROOT, binary

EXPOSURE_MAX = 2.5  # of 10; what is left over is network, /proc and users, which they need


def ask(*argv):
    return subprocess.run(["systemd-analyze", *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)


def main():
    if not shutil.which("systemd-analyze"):
        print("skipped, systemd-analyze is not installed; scripts/setup test installs it")
        return 77
    failed = False
    with tempfile.TemporaryDirectory(prefix="tsd-units.") as tmp:
        for path in sorted(glob.glob(ROOT + "/dist/*.service")):
            name = os.path.basename(path)
            with open(path, encoding="ascii") as f, open(tmp + "/" + name, "w", encoding="ascii") as out:
                out.write(f.read().replace("@TSD_BIN@", binary()))
            p = ask("verify", "--man=no", tmp + "/" + name)
            complaints = [line for line in p.stdout.splitlines() if name in line]
            s = ask("security", "--offline=true", tmp + "/" + name)
            m = re.search(r"Overall exposure level for \S+: ([\d.]+)", s.stdout)
            if not m:
                print("%s: this systemd-analyze knows no --offline" % name)
            elif float(m.group(1)) > EXPOSURE_MAX:
                complaints.append("exposure %s is above %s:\n%s" % (m.group(1), EXPOSURE_MAX, s.stdout))
            if complaints or p.returncode:
                print("%s: %s" % (name, "\n".join(complaints) or p.stdout))
                failed = True
            else:
                print("%s: exposure %s" % (name, m.group(1) if m else "?"))
    return 1 if failed else 0


sys.exit(main())
