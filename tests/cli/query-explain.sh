# What a query would read: files, summaries, memory, limits; from a folder and from a daemon; what is refused.
awk 'BEGIN { for (h = 0; h < 3; h++) for (t = 0; t < 2 * 86400; t += 60) print "cpu", 1793577600 + t, t % 97, "host=h" h, "dc=x" }' >points.txt
tsd import points.txt --data data 2>/dev/null
explain() {
    tsd query "$@" --explain | sed -E 's/[0-9]+ bytes/N bytes/g'
}
explain 2026/11/02 2026/11/03 sum downsample 1h avg cpu host='*' --data data
explain 2026/11/02-01:30 2026/11/02-12:00 sum cpu host=h1 max cpu dc=x --data data
explain 2026/11/02-01:30 2026/11/03 sum cpu --by day --data data
explain 2020/11/02 2020/11/03 sum cpu --data data
explain 2026/11/02 2026/11/03 sum cpu host=nobody --data data
tsd query 2026/11/02 2026/11/03 sum cpu --data data --explain --format json | sed -E 's/"(bytes|needs)":[1-9][0-9]*/"\1":N/g'
tsd query 2026/11/02 2026/11/03 sum nothing --data data --explain
tsd query 2026/11/02 2026/11/03 sum cpu --data data --explain --format csv
tsd query 2026/11/02 2026/11/03 sum cpu --data data --explain --plot x.png
start data --query-max-bytes 1G --query-max-series 2 --query-timeout-ms 60000
echo "cpu 1793577600 5 host=h9 dc=y" >more.txt
tsd import more.txt --port $port >/dev/null 2>&1
explain 2026/11/02 2026/11/03 sum downsample 1h sum cpu --port $port
tsd query 2026/11/02 2026/11/03 sum cpu --port $port
tsd query 2026/11/02 2026/11/03 sum nothing --port $port --explain
tsd query 2026/11/02 2026/11/03 sum cpu --port $port --data data --explain
stop
