#!/usr/bin/env python3
"""Has nothing to measure on this host and asks not to be started again."""
import sys
import time

from collectors.lib import utils

utils.point("it.never", int(time.time() * 1000), 1)
sys.exit(13)
