"""potsdb: argv = host port. put lines over one connection."""
import json
import sys

sys.path.pop(0)  # this folder holds a file of the library's name
import potsdb

client = potsdb.Client(sys.argv[1], port=int(sys.argv[2]), host_tag="lab", check_host=True)
points = [["potsdb.m", {"host": "lab", "k": "v%d" % (i % 2)}, 1500000000 + i, v] for i, v in enumerate([1, -3, 0.25, 1e-07] * 10)]
for metric, tags, at, value in points:
    client.log(metric, value, k=tags["k"], timestamp=at)
client.wait()
print(json.dumps(points))
