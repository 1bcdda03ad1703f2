#!/usr/bin/env python3
"""A real daemon is killed with SIGKILL while it merges files: the next start removes what the merge was writing, and a record of an
interrupted merge that it cannot use; all points are there, before the merge is done again and after it."""
import glob
import os

from metakit import end, holds as check
from tsdtest import Daemon, until

T0 = 1500000000 - 1500000000 % 86400
N_SERIES, N_FILES = 600, 40     # rows enough for a merge to look at its limit, and files enough to start one


def fill(d):
    """Flush small files of one day until a merge is at work: it has begun a file that is none of theirs. Returns their number."""
    for k in range(N_FILES):
        d.send("".join("put m %d %d s=s%03d\n" % (T0 + k, k * N_SERIES + i, i) for i in range(N_SERIES)))
        check("points", d.sync() == (k + 1) * N_SERIES)
        d.flush("files")
        if len(files(d)) > k + 1:
            return k + 1
    until("a merge", lambda: len(files(d)) > N_FILES)
    return N_FILES


def files(d):
    return glob.glob(d.data + "/files/*.t")


def look(d, n, when):
    got = d.api("/api/query?start=%d&end=%d&m=sum:m" % (T0, T0 + N_FILES))
    want = {str(T0 + k): sum(k * N_SERIES + i for i in range(N_SERIES)) for k in range(n)}
    check(when + ": all points", bool(got) and got[0]["dps"] == want, got)


def log_of(d):
    with open(d.log.name) as f:
        return f.read()


def killed(record):
    """record: what lies in DIR/MERGE when the daemon starts again; None: nothing."""
    what = "with a record" if record else "without a record"
    with Daemon(workers=2, compaction_max_bytes_per_s=1) as d:
        n = fill(d)
        check(what + ": the merge is at work", len(files(d)) > n, files(d))
        d.kill()
        if record:
            with open(d.data + "/MERGE", "wb") as f:
                f.write(record)
        d.keys["compaction_max_bytes_per_s"] = 0
        d.start()
        check(what + ": its file is removed", "removed unfinished files=" in log_of(d), log_of(d)[-2000:])
        check(what + ": one line for the record", log_of(d).count("an interrupted merge starts again") == bool(record), log_of(d)[-2000:])
        look(d, n, what + ": after the start")
        d.flush("compact")
        until("one file", lambda: len(files(d)) == 1)
        look(d, n, what + ": merged")
        check(what + ": no record is left", not os.path.exists(d.data + "/MERGE"))


def main():
    killed(None)
    killed(b"TSDMERGE" + bytes(64))
    end("killed_merge")


if __name__ == "__main__":
    main()
