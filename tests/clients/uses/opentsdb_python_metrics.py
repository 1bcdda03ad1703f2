"""opentsdb-python-metrics: argv = host port. A decorated function, points at the present time."""
import json
import os
import sys

sys.path.pop(0)  # this folder holds a file of the library's name
os.environ["OPENTSDB_HOSTNAME"], os.environ["OPENTSDB_PORT"] = sys.argv[1:]
from opentsdb_python_metrics import metric_wrappers


@metric_wrappers.metric_wrapper("python.metrics", asynchronous=False, value=lambda result: result)
def answer():
    return 42.5


answer()
metric_wrappers.send_tsdb_metric("python.metrics.sent", 17, asynchronous=False, k="v")
print(json.dumps([["python.metrics.value", {}, None, 42.5], ["python.metrics.sent", {"k": "v"}, None, 17]]))
