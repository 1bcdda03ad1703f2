#!/usr/bin/env python3
"""Started every second; tells where it runs."""
import os
import sys
import time

import utils  # the folder lib itself is in PYTHONPATH as well

utils.point("it.every", int(time.time() * 1000), os.getpid(), "cwd=%s" % os.getcwd())
utils.point("it.every.stdin", int(time.time() * 1000), len(sys.stdin.read()))
utils.point("it.every.leader", int(time.time() * 1000), int(os.getpgid(0) == os.getpid()))
