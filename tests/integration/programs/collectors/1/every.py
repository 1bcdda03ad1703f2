#!/usr/bin/env python3
"""Started every second; tells where it runs."""
import os
import sys
import time

import utils  # the folder lib itself is in PYTHONPATH as well

utils.point("it.every", int(time.time()), os.getpid(), "cwd=%s" % os.getcwd())
utils.point("it.every.stdin", int(time.time()), len(sys.stdin.read()))
utils.point("it.every.leader", int(time.time()), int(os.getpgid(0) == os.getpid()))
