#!/usr/bin/env python3
"""Takes far longer than its interval."""
import os
import time

from collectors.lib import utils

utils.point("it.slow", int(time.time() * 1000), os.getpid())
time.sleep(3600)
