#!/usr/bin/env python3
"""Begets a child; then both hang and do not listen to SIGTERM."""
import os
import signal
import time

from collectors.lib import utils

signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    time.sleep(3600)
utils.point("it.hang", int(time.time() * 1000), os.getpid())
utils.point("it.hang.child", int(time.time() * 1000), child)
time.sleep(3600)
