#!/usr/bin/env python3
"""1,000 points a second, from the whole second after the last one noted in the file given; each second is noted when it was printed."""
import os
import signal
import sys
import time

SERIES = 1000


def value(ts, i):
    return (ts * 31 + i * 17) % 1000003


def main():
    end = []
    signal.signal(signal.SIGTERM, lambda *_: end.append(1))
    ts = int(time.time()) + 1
    if os.path.exists(sys.argv[1]):
        with open(sys.argv[1], encoding="ascii") as f:
            ts = max([ts] + [int(line) + 1 for line in f])
    with open(sys.argv[1], "a", encoding="ascii") as diary:
        while not end:
            wait = ts - time.time()
            if wait > 0:
                time.sleep(min(wait, 0.2))
                continue
            sys.stdout.write("".join("away.m %d %d n=%d\n" % (ts, value(ts, i), i) for i in range(SERIES)))
            sys.stdout.flush()
            diary.write("%d\n" % ts)
            diary.flush()
            ts += 1


if __name__ == "__main__":
    main()
