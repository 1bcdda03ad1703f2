# Pictures, notes about empty answers, export, compact, annotate, replace and check: dates are of the zone of the daemon, or with --data of its configuration.
{
    echo "m 1793573999 1 h=a" # the last second of November 1, 2026, in Berlin
    echo "m 1793574000 2 h=a" # the first one of November 2
    echo "m 1793660399 4 h=a" # the last one
    echo "m 1793660400 5 h=b"
} >points.txt
tsd import points.txt --data data
echo 'timezone = Europe/Berlin' >tsd.conf
day="--from 2026/11/02 --to 2026/11/02"
echo "== a folder"
tsd export m $day --data data --config tsd.conf
tsd export m $day --data data
tsd query 2025/11/02 2025/11/03 sum m --data data --config tsd.conf
echo "== a daemon"
start data --config tsd.conf --query-allow-delete true --meta-allow-delete true
tsd export m $day --port $port
tsd export m --from 2026/11/02 --to 2026/11/01 --port $port
tsd query 2025/11/02 2025/11/03 sum m --by hour --port $port
tsd query 2025/11/02 2025/11/03 sum m --by hour --tz UTC --port $port
tsd query 2026/11/02 2026/11/02 sum m --by hour --plot p.svg --port $port
grep -o Europe/Berlin p.svg
tsd query 2026/11/02 2026/11/02 sum m --by hour --plot - --port $port | grep -o '2026-11-02.*'
tsd query 2026/11/02 2026/11/02 sum m --by hour --tz UTC --plot - --port $port | grep -o '2026-11-02.*'
echo "== a series that has no points in the range"
tsd query 2026/10/01 2026/10/02 sum m h=a --port $port
tsd query 2026/11/03 2026/11/04 sum m h=a --port $port
tsd query 2026/10/01 2026/10/02 sum m h=c --port $port
tsd query 2026/10/01 2026/10/02 sum m 'h=a|c' --port $port
echo "== other commands"
# between these two, midnight in Berlin is later than the end in UTC
tsd compact --from 2026/11/02 --to 2026-11-01T23:30:00Z --port $port | sed 's/files of .*/files/'
echo "m 1793574000 20 h=a" >new.txt
tsd replace new.txt --series 'm{h=a}' --from 2026/11/02 --to 2026-11-01T23:30:00Z --port $port
tsd query 2026/11/02 2026/11/02 none m --port $port
tsd check 2026/11/02 2026-11-01T23:30:00Z max m --of max -w 10 --port $port
tsd annotate 2026/11/02 'begins in Berlin' --port $port
tsd annotate 2026/11/03-23:59 'ends' --port $port
tsd annotate list 2026/11/02 2026/11/02 --port $port
tsd annotate list 2026/11/03 2026/11/03 --port $port
tsd annotate delete 2026/11/02 2026/11/02 --port $port
stop
tsd export m $day --port $port 2>&1 | sed 's/ *(start.*//'
tsd compact --from 2026/11/02 --port $port 2>&1 | sed 's/ *(start.*//'
tsd compact --from 2026/11/32 --port $port 2>&1 | sed 's/Times are.*//'
