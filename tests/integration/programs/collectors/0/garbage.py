#!/usr/bin/env python3
"""Prints nearly everything but points, and between it good ones; some in halves."""
import os
import sys
import time

from collectors.lib import utils


def raw(data):
    os.write(1, data)


good = 0
for bad in (b"\x00\xff\xfe binary\n", b"it.bad\n", b"it.bad 1 2\n", b"it.bad %d nan-sense\n" % time.time(), b"it bad %d 1\n" % time.time(),
            b"it.bad %d 1 tag\n" % time.time(), b"it.bad %d 1 t\xc3\xa4g=x\n" % time.time(), b"it.bad " + b"9" * 5000 + b" 1\n",
            b"<html>\n", b"Traceback (most recent call last):\n"):
    raw(bad)
    good += 1
    utils.point("it.between", int(time.time() * 1000) + good, good)
line = "it.halves %d 4711 a=b" % int(time.time())
raw(line[:14].encode())
time.sleep(0.3)
raw(line[14:].encode() + b"\n\n")  # an empty line is no bad one
with open(os.environ["PROGRAMS_DIARY"], "a") as f:
    f.write(line + "\n")
sys.stderr.write("a complaint of garbage.py\n")
raw(b"it.cut %d 12" % time.time())  # the end of a number that never comes
