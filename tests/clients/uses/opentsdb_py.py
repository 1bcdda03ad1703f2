"""opentsdb-py and opentsdb-client: argv = host port HTTP|TELNET prefix. Batches packed with gzip, or put lines."""
import json
import sys

from opentsdb import TSDBClient

host, port, protocol, prefix = sys.argv[1:]
client = TSDBClient(host, port=int(port), protocol=protocol, host_tag=False, static_tags={"run": "x"})
if not client.is_alive():
    sys.exit("it does not find the server alive")
points = [["%s.cpu" % prefix, {"run": "x", "host": "h%d" % (i % 3)}, 1500000000 + i, v]
          for i, v in enumerate([1, -3, 0.25, 1.5e-07, 2 ** 53 - 1] * 24)]
for metric, tags, at, value in points:
    client.send(metric, value, host=tags["host"], timestamp=at)
client.close()
client.wait()
if client.statuses["failed"] or client.statuses["success"] != len(points):
    sys.exit("its statuses: %r" % client.statuses)
print(json.dumps(points))
