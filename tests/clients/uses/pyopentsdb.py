"""pyopentsdb: argv = host port. Paths with a slash at the end; reads back by itself, asks every other endpoint it has."""
import datetime
import json
import sys

sys.path.pop(0)  # this folder holds a file of the library's name
from pyopentsdb.tsdb import TsdbConnector

db = TsdbConnector("http://%s:%s" % tuple(sys.argv[1:]))
points = [["pyopentsdb.m", {"host": "h%d" % (i % 2)}, 1500000000 + i, v] for i, v in enumerate([1, -3, 0.25, 1e-07] * 10)]
if db.put([{"metric": m, "timestamp": t, "value": v, "tags": g} for m, g, t, v in points]) is not None:
    sys.exit("put: an answer with a body")


def utc(t):
    return datetime.datetime.fromtimestamp(t, datetime.timezone.utc)


rows = db.query(start=utc(1500000000), end=utc(1500000100), show_tsuids=True, show_query=True, metrics=[
    {"metric": "pyopentsdb.m", "aggregator": "sum", "filters": [{"type": "wildcard", "tagk": "host", "filter": "*", "groupBy": True}]}])
seen = {(row["tags"]["host"], int(t)): v for row in rows for t, v in row["dps"].items()}
if seen != {(g["host"], t): v for m, g, t, v in points} or not rows[0]["tsuids"]:
    sys.exit("query: %r" % rows)
if db.metrics(regexp="pyopentsdb.*") != ["pyopentsdb.m"] or db.suggest(type="tagv", q="h") != ["h0", "h1"]:
    sys.exit("suggest: %r" % db.metrics(regexp="pyopentsdb.*"))
if "sum" not in db.aggregators() or "version" not in db.version() or "wildcard" not in db.filters():
    sys.exit("aggregators, version or filters")
if not db.config() or not db.stats() or not db.dropcaches():
    sys.exit("config, stats or dropcaches")
db.close()
print(json.dumps(points))
