#!/usr/bin/env python3
"""`tsd collect --once` says what vmstat, df, ip and ss say of this machine. Each is asked before and after; counters must lie between. Ends with 77
if none of them is here."""
import json
import re
import shutil
import subprocess
import sys

from tsdtest import binary

MIB = 1 << 20
TRIES = 5  # the machine works meanwhile: what is no counter may leave its bounds and come back


def run(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, timeout=300).stdout


def ours():
    """{(metric, tags): value}"""
    out = {}
    for line in run(binary(), "collect", "--once", "--format", "text", "--collect-host", "h", "--only",
                    "cpu,memory,vmstat,fs,net,sockets", "--collect-fs-exclude-types", "", "--collect-fs-exclude-mounts", "").splitlines():
        _, metric, _, value, *tags = line.split(" ")
        out[metric, " ".join(sorted(t for t in tags if t != "host=h"))] = float(value)
    return out


# Each asks one tool: {(metric, tags): (value, slack)}; slack None = a counter.
def vmstat():
    names = {"nice user cpu ticks": ("proc.stat.cpu", "type=nice"), "system cpu ticks": ("proc.stat.cpu", "type=system"),
             "idle cpu ticks": ("proc.stat.cpu", "type=idle"), "IO-wait cpu ticks": ("proc.stat.cpu", "type=iowait"),
             "IRQ cpu ticks": ("proc.stat.cpu", "type=irq"), "softirq cpu ticks": ("proc.stat.cpu", "type=softirq"),
             "stolen cpu ticks": ("proc.stat.cpu", "type=steal"), "K paged in": ("proc.vmstat.pgpgin", ""), "K paged out": ("proc.vmstat.pgpgout", ""),
             "pages swapped in": ("proc.vmstat.pswpin", ""), "pages swapped out": ("proc.vmstat.pswpout", ""), "interrupts": ("proc.stat.intr", ""),
             "CPU context switches": ("proc.stat.ctxt", ""), "forks": ("proc.stat.processes", "")}
    sizes = {"K total memory": ("proc.meminfo.memtotal", 0), "K total swap": ("proc.meminfo.swaptotal", 0),
             "K free memory": ("proc.meminfo.memfree", 512 * MIB), "K buffer memory": ("proc.meminfo.buffers", 64 * MIB)}
    out = {}
    for line in run("vmstat", "-s").splitlines():
        value, _, name = line.strip().partition(" ")
        if name in names:
            out[names[name]] = int(value), 3 if name in ("idle cpu ticks", "IO-wait cpu ticks") else None  # the kernel corrects these two
        elif name in sizes:
            out[sizes[name][0], ""] = int(value) * 1024, sizes[name][1]
    return out


def df():
    out = {}
    for line in run("df", "-B1", "--output=size,used,avail,itotal,iused,iavail,fstype,target").splitlines()[1:]:
        *numbers, fstype, target = line.split(None, 7)
        if re.search(r"[^\w./-]", target) or not numbers[0].isdigit() or fstype.startswith("fuse"):
            continue
        tags = "fstype=%s mount=%s" % (fstype, target)
        for name, value, slack in zip(("bytes.total", "bytes.used", "bytes.free", "inodes.total", "inodes.used", "inodes.free"), numbers,
                                      (0, 512 * MIB, 512 * MIB, 0, 20000, 20000)):
            if value.isdigit() and int(numbers[0 if name.startswith("bytes") else 3]):
                out["df." + name, tags] = int(value), slack
    return out


def ip():
    out = {}
    for link in json.loads(run("ip", "-j", "-s", "link")):
        for way, direction in (("rx", "in"), ("tx", "out")):
            st = link["stats64"][way]
            tags = "direction=%s iface=%s" % (direction, re.sub(r"[^\w./-]", "_", link["ifname"]))
            out["proc.net.bytes", tags] = st["bytes"], None
            out["proc.net.packets", tags] = st["packets"], None
            out["proc.net.errs", tags] = st["errors"], None
            out["proc.net.drop", tags] = st["dropped"] + st.get("over_errors", st.get("missed", 0)), None
    return out


def ss():
    text, out = run("ss", "-s"), {}
    m = re.search(r"orphaned (\d+), timewait (\d+)", text)
    out["net.sockstat.num_orphans", ""] = int(m.group(1)), 20
    out["net.sockstat.num_timewait", ""] = int(m.group(2)), 200
    for name in ("TCP", "UDP", "RAW"):
        m = re.search(r"^%s\s+(\d+)\s+(\d+)\s+(\d+)" % name, text, re.M)
        out["net.sockstat.sockets_inuse", "type=" + name.lower()] = int(m.group(2)), 20
        out["net.sockstat.sockets_inuse", "type=%s6" % name.lower()] = int(m.group(3)), 20
    return out


def compare(tool):
    """(problems, number of values compared)"""
    before, have, after = tool(), ours(), tool()
    problems, n = [], 0
    for key in before.keys() & after.keys():
        (low, slack), (high, _) = before[key], after[key]
        if key not in have and key[0].startswith("df."):
            continue  # of several mounts of a device we report one
        if slack is not None:
            low, high = min(low, high) - slack, max(low, high) + slack
        n += 1
        if key not in have or not low <= have[key] <= high:
            problems.append("%s: %s %s is %s, not from %s to %s" % (tool.__name__, *key, have.get(key), low, high))
    return problems, n


def main():
    missing = [tool.__name__ for tool in (vmstat, df, ip, ss) if not shutil.which(tool.__name__)]
    if missing:
        print("skipped, these programs are not installed: %s; scripts/setup test installs them" % " ".join(missing))
        return 77
    failed = False
    for tool in (vmstat, df, ip, ss):
        for _ in range(TRIES):
            problems, n = compare(tool)
            if not problems:
                break
        failed = failed or bool(problems) or not n
        print("%-7s %s" % (tool.__name__, "\n".join(problems) if problems else "%d values agree" % n))
    return 1 if failed else 0


sys.exit(main())
