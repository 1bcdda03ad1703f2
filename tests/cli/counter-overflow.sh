# A sum that does not fit into 64 bits is an error where its value matters, and is counted and deleted like any other point.
start data --query-allow-delete true
send() {
    python3 -c 'import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(sys.stdin.buffer.read())
s.shutdown(1)
print(s.makefile().read(), end="")' $port
}
big="incr m 1793620800 9223372036854775807"
printf '%s h=a\n%s h=a\nput m 1793620800 1 h=b\nput other 1793620800 1 h=b\nsync\n' "$big" "$big" | send
day="2026/11/02 2026/11/02"
tsd query $day sum m --by h --port $port
tsd metrics --port $port | sed 's/ *[0-9]* bytes.*//'
tsd delete $day sum m --dry-run --port $port
tsd delete $day sum m --port $port
tsd metrics --port $port | sed 's/ *[0-9]* bytes.*//'
echo "== replaced"
printf '%s h=a\n%s h=a\nsync\n' "$big" "$big" | send
tsd flush --port $port
tsd query $day sum m --by h --port $port
echo 'm 1793620800 5 h=a' >new.txt
tsd replace new.txt --series 'm{h=a}' --from 1793620800 --to 1793620801 --port $port
tsd query $day sum m --by h --port $port
echo "== where no value is needed"
printf '%s h=a\n%s h=a\nput m 1793620801 2 h=a\nsync\n' "$big" "$big" | send
tsd scan $day sum m --keys --port $port
tsd scan $day sum m --port $port | tail -1
tsd scan $day sum m --keys --where 'value>1' --port $port | tail -1
tsd scan $day sum m --delete --port $port
tsd scan $day sum m --port $port
printf '%s h=a\n%s h=a\nput m 1793620801 2 h=a\nsync\n' "$big" "$big" | send
query() { curl -s "$@" "http://127.0.0.1:$port/api/query?start=2026/11/02&end=2026/11/02&m=none:m"; echo; }
query
query -X DELETE
query
printf '%s h=a\n%s h=a\nput m 1793620801 2 h=a\nsync\n' "$big" "$big" | send
stop
tsd scan $day sum m --delete --data data
tsd scan $day sum m --data data
