# The number of shards: a folder and a running daemon change at once.
printf 'm 1793620800 1 a=b\n' >p.txt
start data
tsd import --port $port p.txt
tsd rebalance --port $port
tsd rebalance --port $port --shards 64
tsd rebalance --port $port
tsd rebalance --port $port --shards 8 --no-wait >/dev/null
tsd rebalance --port $port --shards 8
tsd export --port $port
tsd rebalance --port $port --shards 64
tsd rebalance --port $port --shards 3
tsd rebalance --port $port --shards 0
stop
tsd fsck --data data
start data
tsd rebalance --port $port
stop
tsd rebalance --data data --shards 4
tsd rebalance --data data
tsd export --data data
printf 'x' >data/SHARDS
tsd fsck --data data
tsd rebalance --data data --shards 4 2>&1 | sed 's/^[^ ]* warn/warn/'
tsd fsck --data data
# the log counts them
start data
tsd rebalance --port $port --shards 1 >/dev/null
stop
grep -o 'the store has 1 shard.* instead of [0-9]*' data.log
