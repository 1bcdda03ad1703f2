#!/usr/bin/env python3
"""Fails soon, each time."""
import time

from collectors.lib import utils

utils.point("it.crash", int(time.time() * 1000), 1)
raise SystemError("this one always fails")
