# Lines without a tag are named, and --tag gives them one; a byte that no terminal shows cuts nothing; a closed standard input is an error.
printf 'sys.load 1793620800 1\nput sys.load 1793620860 2 host=web1\n\n# comment\nrollup 1h-sum sys.load 1793620800 3 host=web1\nsys.load 1793620920\n' >put.txt
printf 'mem free=5 1793620800000000000\nmem,host=a free=6 1793620801000000000\n' >influx.txt
start data
tsd import --port $port put.txt influx.txt
tsd import --port $port --max-errors 0 put.txt
stop
tsd import --data data --bulk put.txt
tsd import --data one put.txt influx.txt
tsd import --dry-run put.txt
tsd import --data two --tag src=x put.txt influx.txt
tsd export --data two
printf 'a\000b 1793620800 1 h=x\nm 1793620800 1\0002 h=x\nm 1793620800 1 h=\033[1mx\n' >nul.txt
tsd import --data two nul.txt
start data
tsd import --port $port nul.txt
stop
tsd import --data two - <&-
"$TSD" export --data two >&-
echo "exit $?"
# times of InfluxDB that count something else than nanoseconds
printf 'cpu,host=a usage=1 1793620800\ncpu,host=a usage=2 1793620801000\ncpu,host=a usage=3 1793620802000000000\n' >seconds.txt
tsd import --data three seconds.txt
head -1 seconds.txt | tsd import --data three --time-unit s -
head -1 seconds.txt | tsd import --data three --time-unit ns -
tsd export --data three
