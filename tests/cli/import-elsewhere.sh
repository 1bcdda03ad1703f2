# What import is given by mistake: an OpenTSDB, a web log, CSV, JSON; and a reader of standard output that goes away.
cat >fake.py <<'EOF'
# speaks as OpenTSDB: silent on put, no sync
import socket, sys
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(1)
print(s.getsockname()[1], flush=True)
c, _ = s.accept()
with c, c.makefile("rb") as lines:
    for line in lines:
        if not line.startswith(b"put "):
            c.sendall(b"unknown command: " + line.split()[0] + b".  Try `help'.\n")
EOF
python3 fake.py >fake.port &
pids="$pids $!"
until [ -s fake.port ]; do sleep 0.05; done
echo 'm 1793620800 1 host=a' >one.txt
tsd import --port $(cat fake.port) one.txt
echo '192.0.2.1 - - [02/Nov/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "curl"' >access.log
echo 'metric,timestamp,value,tags' >series.csv
echo 'date,hour,web.hits' >totals.csv
echo '[{"metric":"m"}]' >points.json
printf 'time,value\n2026-11-02,3\n' >sheet.csv
start data
tsd import --port $port access.log series.csv totals.csv sheet.csv points.json one.txt
i=0
while [ $i -lt 3000 ]; do echo "m $((1793620801 + i)) 1 host=a"; echo "bad $i"; i=$((i + 1)); done >many.txt
tsd import --port $port --max-errors 1 many.txt
"$TSD" export --port $port | head -n 1
stop
"$TSD" serve --data data -p $port >p.log 2>&1 &
pid=$! dir=p
pids="$pids $pid"
until "$TSD" flush -p $port 2>/dev/null; do sleep 0.05; done
echo listens
stop
tsd serve --data data -p many
