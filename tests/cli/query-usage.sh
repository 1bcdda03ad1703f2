# What is wrong and what to do.
tsd query
tsd query 2026/11/01
tsd query sum shop.hits --by month
tsd query sum shop.hits shop=a
tsd query 2026/11/01 cpu
tsd query 2026/11/01 sum
tsd query 1h-ago now sum
tsd query 2026/11/01 2026/11/02
tsd query 2026/11/01 +wxh=9x9 sum
tsd query 2026/11/01 plus cpu
tsd query someday sum cpu
tsd query 2026/11/01 2026/11/02 cpu
tsd query 2026/11/04 2026/11/01 sum cpu
tsd query 2015/02/30 sum cpu
tsd query 2026/11/01 sum cpu --format xml
tsd query 2026/11/01 sum cpu --by day --tz Mars/Olympus
tsd query 2026/11/01 sum cpu --fill zero
tsd query 2026/11/01 sum cpu --by day --fill nan
tsd query 2026/11/01 sum cpu --port 1
tsd query 2026/11/01 sum cpu --port 69778
tsd query 2026/11/01 sum cpu --port http
start data
tsd query 2026/11/01 sum cpu --port $port
tsd query 2026/11/01 sum cpu --port $port --data data
stop
tsd query 2026/11/01 sum cpu --data data
tsd query 2026/11/01 sum cpu --by day --fill none
# what the shell has cut or expanded
tsd query 2 days ago sum cpu --by day
tsd query 10 min ago sum cpu
tsd query 2026-11-01 13:00 sum cpu
tsd query 2026/11/01 2026-11-02 13:00 sum cpu
tsd query 2026/11/01 sum 'cpu{host=a,' 'host=b}'
tsd query sum:cpu
# names of zones, and an interval as columns
tsd query 2026/11/01 mean cpu
tsd query 2026/11/01 sum cpu --by host,day --columns day
# options behind the metric, a function that is missing
tsd query 2026/11/01 avg cpu host=a downsample 1m avg
tsd query 2026/11/01 avg cpu rate
tsd query 2026/11/01 avg downsample 1m cpu
