#!/usr/bin/env python3
"""Every time zone of the system against Python's zoneinfo, as installed and compiled anew by zic, fat and slim.

Compared are both sides of every change that tsd knows, random instants up to the year 3000 and, for the installed files, a raster of 10 days from
1890 to 2060. Zones with the same bytes are compared once. Python always reads the fat files: some of zic's slim files lack a change that its rule
for later times needs (America/Ojinaga, November 2022).
"""
import bisect
import datetime
import os
import random
import subprocess
import sys
import tempfile
import zoneinfo

EPOCH = datetime.datetime(1970, 1, 1)
SYSTEM = os.environ.get("TZDIR") or "/usr/share/zoneinfo"
DAY = 86400
# zones whose rules changed lately, or are of a rare kind: they must be there
MUST = ("America/Mexico_City Africa/Cairo Asia/Almaty America/Asuncion America/Nuuk America/Scoresbysund Asia/Gaza Pacific/Fiji "
        "America/Ciudad_Juarez America/Coyhaique America/St_Johns Australia/Lord_Howe Africa/Casablanca Europe/Dublin").split()


def seconds(*date):
    return int((datetime.datetime(*date) - EPOCH).total_seconds())


RASTER = list(range(seconds(1890, 1, 1), seconds(2060, 1, 1), 10 * DAY + 3600))


def zone_names(folder):
    """Names of distinct zones: {bytes: name}, those of MUST by their own name."""
    found = {}
    for top, dirs, files in os.walk(folder):
        dirs[:] = sorted(d for d in dirs if d[0].isupper())
        for f in sorted(files):
            name = os.path.relpath(os.path.join(top, f), folder)
            with open(os.path.join(top, f), "rb") as fp:
                data = fp.read()
            if data[:4] == b"TZif" and name[0].isupper() and (data not in found or name in MUST):
                found[data] = name
    return sorted(found.values())


def spans_of(folder, names):
    out = subprocess.run([os.environ["ZONEDUMP"]], input="\n".join(names) + "\n", text=True, capture_output=True, check=True,
                         env=dict(os.environ, TZDIR=folder)).stdout
    spans, cur = {}, None
    for line in out.splitlines():
        if line and (line[0].isdigit() or line[0] == "-"):
            t, offset = line.split()
            cur[0].append(int(t))
            cur[1].append(int(offset))
        else:
            cur = spans.setdefault(line, ([], []))
    return spans


def python_offset(zone, t):
    utc = EPOCH + datetime.timedelta(seconds=t)
    return int((zone.fromutc(utc.replace(tzinfo=zone)).replace(tzinfo=None) - utc).total_seconds())


def compare(folder, oracle, raster, what, rng):
    names = zone_names(folder)
    spans = spans_of(folder, names)
    bad = checked = 0
    for name in names:
        if name not in spans:
            print("DIFFERENT %s %s: not opened" % (what, name))
            bad += 1
            continue
        with open(os.path.join(oracle, name), "rb") as fp:
            zone = zoneinfo.ZoneInfo.from_file(fp, key=name)
        froms, offsets = spans[name]
        instants = raster + [t + d for t in froms for d in (-1, 0) if seconds(1850, 1, 1) < t < seconds(2500, 1, 1)]
        instants += [rng.randrange(seconds(1850, 1, 1), seconds(3000, 1, 1)) for _ in range(500)]
        for t in instants:
            checked += 1
            got, want = offsets[bisect.bisect_right(froms, t) - 1], python_offset(zone, t)
            if got != want:
                print("DIFFERENT %s %s at %d: %d, zoneinfo %d" % (what, name, t, got, want))
                bad += 1
                break
    missing = [z for z in MUST if z not in names]
    if missing or len(names) < 300:
        print("DIFFERENT %s: %d zones, missing %s" % (what, len(names), missing))
        bad += 1
    print("%s: %d zones, %d instants" % (what, len(names), checked))
    return bad


def main():
    rng = random.Random(3)
    bad = 0
    with tempfile.TemporaryDirectory() as tmp:
        fat, slim = os.path.join(tmp, "fat"), os.path.join(tmp, "slim")
        for folder in (fat, slim):
            subprocess.run(["/usr/sbin/zic", "-b", os.path.basename(folder), "-d", folder, os.path.join(SYSTEM, "tzdata.zi")], check=True)
        bad += compare(SYSTEM, SYSTEM, RASTER, "installed", rng)
        bad += compare(fat, fat, [], "fat", rng)
        bad += compare(slim, fat, [], "slim", rng)
    print("zone_files: %s" % ("equal" if not bad else "%d zones differ" % bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
