"""What the collectors of this test share, as tcollector's collectors share collectors/lib: prints a point and keeps a diary of it."""
import os
import sys


def value(ts):
    """A value that can be worked out again from the time."""
    return int(ts * 1000) * 7 % 100003


def point(metric, ts, v, tags="", put=False):
    """Print a point at once; then note it, so that what is noted was printed."""
    line = "%s %s %s%s" % (metric, ts, v, " " + tags if tags else "")
    sys.stdout.write(("put " if put else "") + line + "\n")
    sys.stdout.flush()
    with open(os.environ["PROGRAMS_DIARY"], "a") as f:
        f.write(line + "\n")
