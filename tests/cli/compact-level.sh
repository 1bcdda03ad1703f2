# Files compressed harder: on a folder and through the daemon; what is read stays the same, and a second time does nothing.
bytes() { sed 's/[0-9][0-9]* bytes/N bytes/g'; }
i=0
while [ $i -lt 400 ]; do
    echo "m $((1762084800 + i * 60)) $i a=b"
    i=$((i + 1))
done >p.txt
start data
tsd import --port $port p.txt
tsd export --port $port >before.txt
tsd compact --port $port --to 2025-11-01 --level 9
tsd compact --port $port --level 9 | bytes
tsd compact --port $port --from 2025-11 --to 2025-11 --level 9 | bytes
tsd compact --port $port --level 3
tsd compact --port $port --from 2026 --to 2025
tsd export --port $port | diff before.txt -
tsd compact --port $port --data data
stop
tsd compact --data data --level 19 | bytes
tsd export --data data | diff before.txt -
tsd fsck --data data
echo "m $(date +%s) 1 a=b" >now.txt
tsd import --data data now.txt
tsd compact --data data --level 19 | bytes
tsd compact --level x --data data
tsd compact word
