# OpenTSDB's tables in HBase: created once, left alone later; what a daemon says of it.
tsd hbase
tsd hbase create
tsd hbase create-tables --split salt
tsd hbase create-tables --split 01,0
tsd hbase create-tables --split 02,01
tsd hbase create-tables --split 00,$(printf %0200d 1)
tsd hbase create-tables --metrics 5
tsd hbase create-tables --compression best
tsd hbase create-tables --salt-width 9
tsd hbase create-tables --gateways 127.0.0.1:1
tsd hbase reship --from 1h-ago
tsd hbase reship --from 2h-ago --to 1h-ago --port 1
tsd hbase reship --from 2026/01/02 --to 2026/01/01 --port 1
tsd hbase reship --from 2026/13/02 --to now --port 1
tsd hbase status now
tsd hbase reship --from 2h-ago --to 1h-ago --port 1 --dry-run
tsd hbase status --from 2h-ago
tsd hbase create-tables --config ''
tsd hbase create-tables --compression zip
tsd fsck --hbase --metric ''
tsd uid metasync
tsd hbase create-tables --split salt all
tsd hbase reship 1h-ago --from 2h-ago --to 1h-ago --port 1
cat >case.sh <<'END'
. "$here/lib.sh"
gateway=$TSD_HBASE_GATEWAY
unset TSD_HBASE_GATEWAY
export TSD_PORT=1 # nobody listens there
show() {
    tsd hbase "$@" --gateways "$gateway" >out.txt
    sed -E 's/127\.0\.0\.1:[0-9]+/127.0.0.1:PORT/g' out.txt
}
show create-tables --salt-width 1 --salt-buckets 3 --split salt --dry-run
show create-tables --salt-width 1 --salt-buckets 3 --split salt --dry-run --format json
show create-tables --salt-width 1 --salt-buckets 3 --split salt --dry-run --format markdown
show create-tables --split metric --metrics 100 --regions 4 --dry-run | tail -n 1
show status --port 1
show create-tables --salt-width 1 --salt-buckets 3 --split salt --encoding fast_diff
show create-tables --salt-width 1 --salt-buckets 3 --split salt --ttl 86400
show create-tables --split 01,0280,03 --encoding fast_diff | tail -n 1
show status
show status --format json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["gateways"][0]["answers"], [len(t["regions"]) for t in d["tables"]], d["daemon"]["stats"])'
start data --remote hbase --hbase-gateways "$gateway"
show status --port "$port" | grep -cE '^(tsd.hbase.up|tsd.hbase.calls|tsd.storage.ship.points) +[0-9]+$'
printf 'port = %s\n' "$port" >tsd.conf
(
    unset TSD_PORT # it counts more than the file
    tsd hbase reship --config tsd.conf --from 2h-ago --to 1h-ago
    show status --config tsd.conf | grep -cE '^(tsd.hbase.up|tsd.hbase.calls|tsd.storage.ship.points) +[0-9]+$'
)
stop
stop_all
END
"$(dirname "$TSD")/tests/fake_hbase_server" /bin/sh -u case.sh
