# tsd metrics: what is an estimate is marked, and has a field in CSV and JSON.
printf 'm 1793577600 1 h=a\nm 1793577660 2 h=a\nn 1793577600 1 h=a\n' >points.txt
tsd import points.txt --data data
hide() { sed -E "s/[0-9.]+ (bytes|KiB)/SIZE/g; s/ +/ /g"; }
start data
tsd metrics --port $port | hide
tsd metrics --format csv --port $port | cut -d, -f1,4,5,7-
stop
start data --metrics-max-points 1
tsd metrics --port $port | hide
tsd metrics --format csv --port $port | cut -d, -f1,4,5,7-
tsd metrics --format json --port $port | grep -c '"estimated": *true'
stop
# what small metrics do not need is there for large ones
printf 'z 1793577600 1 h=a\nz 1793577660 2 h=b\n' >more.txt
tsd import more.txt --data data
start data --metrics-max-series 4
tsd metrics --port $port | hide
stop
