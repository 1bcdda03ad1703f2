# A picture of each kind of answer; a clear word without gnuplot.
i=0
while [ $i -lt 400 ]; do
    echo "web.hits $((1793491200 + i * 977)) $((i % 17 + 1)) domain=d$((i % 14)).org"
    i=$((i + 1))
done >hits.txt
start data
tsd import --port $port hits.txt
for by in day hour day,domain hour,domain domain; do
    tsd query 2026/11/01 2026/11/06 sum web.hits --by $by --plot p.png --port $port
    head -c 8 p.png | od -An -c
    rm p.png
done
tsd query 2026/11/01 2026/11/06 avg downsample 1h avg web.hits domain='*' --plot p.png --port $port
head -c 8 p.png | od -An -c
tsd query 2026/11/01 2026/11/06 sum web.hits --by day --plot p.png --format csv --port $port | head -n 2
rm p.png
tsd query 2025/11/01 2025/11/06 sum web.hits --by day --plot p.png --port $port
tsd query 2026/11/01 2026/11/06 sum web.hits --by day --plot no/such/folder/p.png --port $port
PATH=/nonexistent "$TSD" query 2026/11/01 2026/11/06 sum web.hits --by day --plot p.png --port $port
stop
