# tsd retention max-bytes: a limit is set, shown and removed; the configuration has one of its own.
start data --max-bytes-grace-s 0
tsd retention --port $port
tsd retention max-bytes 1 --port $port
tsd retention max-bytes 1000G --dry-run --port $port | sed 's/has [0-9.]* [A-Za-z]* on the disk, [0-9.]* [A-Za-z]*/has N bytes on the disk, N bytes/'
tsd retention --port $port
tsd retention max-bytes 1000G --port $port
tsd retention --port $port
stop
echo "== a folder, and the configuration"
tsd retention --data data
tsd retention max-bytes none --data data
tsd retention --data data
tsd retention max-bytes default --data data
tsd serve --data data --max-bytes 1000 --port $port --bind 127.0.0.1
echo "== wrong words"
tsd retention max-bytes 10G 20G
tsd retention max-bytes ten --data data
tsd retention max-bytes 0 --data data
