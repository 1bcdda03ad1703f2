#!/usr/bin/env python3
"""Runs for ever; times in ms, decimal seconds and seconds."""
import time

from collectors.etc import settings
from collectors.lib import utils


def main():
    while True:
        ts = int(time.time() * 1000) / 1000.0
        utils.point("it.loop.ms", int(ts * 1000), utils.value(ts), "kind=a  zone=x", put=True)
        utils.point("it.loop.decimal", "%.3f" % ts, utils.value(ts) / 8.0)
        utils.point("it.loop.host", int(ts * 1000), -utils.value(ts), "host=of.its-own/1")
        time.sleep(settings.PAUSE_S)


if __name__ == "__main__":
    main()
