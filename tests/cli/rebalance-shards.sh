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
# and says which number is wanted while a client may repeat increments
start many
python3 -c 'import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"incr! %d-0000000000000001 1 m 1793620800 1 a=b\nsync\n" % time.time())
s.recv(100)' $port
tsd rebalance --port $port --shards 64 >/dev/null
tsd rebalance --port $port --shards 1 | tail -n +2 | head -n 1
stop
grep -o 'the store keeps .* wanted' many.log | sort -u
