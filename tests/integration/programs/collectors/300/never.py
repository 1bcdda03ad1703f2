#!/usr/bin/env python3
"""The same name in another interval: left out."""
import time

from collectors.lib import utils

utils.point("it.twice", int(time.time()), 1)
