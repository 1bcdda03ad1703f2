"""opentsdb-http-client: argv = host port. One object a request."""
import json
import sys

sys.path.pop(0)  # this folder holds a file of the library's name
from opentsdb_http_client.http_client import OpenTSDBClient

client = OpenTSDBClient(sys.argv[1], int(sys.argv[2]), check_host=True)
points = [["http.client.m", {"host": "lab", "k": "v%d" % (i % 2)}, 1500000000 + i, v] for i, v in enumerate([1, -3, 0.25, 1e-07] * 5)]
for metric, tags, at, value in points:
    client.put(metric, value, timestamp=at, **tags)
client.wait()
print(json.dumps(points))
