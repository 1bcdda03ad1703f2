# The kind of a metric: sum of counts draws no line between points, rate of counters leaves out resets; a daemon and a folder alike.
cat >points.txt <<'EOF'
shop.orders 1793491200 6 shop=a
shop.orders 1793498400 2 shop=a
shop.orders 1793491200 1 shop=b
shop.orders 1793494800 1 shop=b
shop.orders 1793498400 1 shop=b
web.hits 1793491200 6 domain=a
web.hits 1793498400 2 domain=a
web.hits 1793494800 1 domain=b
meter 1793491200 100 at=x
meter 1793491210 200 at=x
meter 1793491220 50 at=x
meter 1793491230 80 at=x
EOF
start data
tsd import --port $port points.txt
all() {
    q 2026/11/01 2026/11/01 sum shop.orders
    q 2026/11/01 2026/11/01 sum web.hits
    q 2026/11/01 2026/11/01 sum rate meter
}
q() { tsd query --port $port "$@"; }
echo "== before"
all
tsd metric set shop.orders kind=count unit=orders --port $port
tsd metric set meter kind=counter --port $port
tsd metric set web.hits kind=gauge --port $port
echo "== after"
all >remote.txt 2>&1
cat remote.txt
tsd metric show shop.orders --port $port
tsd metric show shop.order --port $port
tsd metric show web.hits --port $port
tsd metric set web.hits kind= --port $port
tsd metric show web.hits --port $port
tsd query --port $port 2026/11/01 2026/11/01 sum shop.orders count shop.orders sum web.hits --by shop
tsd query --port $port 2026/11/01 2026/11/01 sum shop.orders --by day --format csv
tsd query --port $port 2026/11/01 2026/11/01 sum shop.orders --by day --format json
tsd query --port $port 2026/11/01 2026/11/01 sum shop.orders --by day --plot orders.svg
grep -c '>orders<' orders.svg
tsd metric set web.hits kind=gauge --port $port
tsd metric set shop.orders kind=counts --port $port
tsd metric set shop.orders kind --port $port
tsd metric set shop.orders unit=boxes knd=gauge --port $port
tsd metric set shop.orders Units=boxes --port $port
tsd metric set shop.orders owner=shop --port $port
tsd metric show shop.orders --port $port
tsd metric set nothing kind=count --port $port
tsd metric --port $port
stop
q() { tsd query --data data "$@"; }
all >local.txt 2>&1
cmp remote.txt local.txt && echo same
start data --compat opentsdb
echo "== compat"
tsd query --port $port 2026/11/01-00:00 2026/11/01-12:00 sum shop.orders
stop
