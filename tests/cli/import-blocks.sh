# Many blocks over one connection, each followed by sync in the middle of what the daemon reads at once: no point is lost.
awk 'BEGIN { for (t = 0; t < 100; t++) for (h = 0; h < 2000; h++) print "put some.longer.metric.name", 1793620800 + t * 60, t * h % 1000, "host=web" h, "datacenter=one" }' >many.txt
start data --workers 2
tsd import --port $port many.txt
tsd export --port $port | wc -l
tsd query 2026/11/01 2026/11/04 count some.longer.metric.name --by day --port $port
tsd query 2026/11/01 2026/11/04 sum some.longer.metric.name --by day --format csv --port $port
awk '{ s += $4 } END { print s }' many.txt
stop
