# tsd scan, delete, query: dates are of the zone of the daemon, or with --data of its configuration; pages have the range of the first one.
{
    echo "m 1793573999 1 h=a" # the last second of November 1, 2026, in Berlin
    echo "m 1793574000 2 h=a" # the first one of November 2
    echo "m 1793577600 3 h=a"
    echo "m 1793660399 4 h=a" # the last one
    echo "m 1793660400 5 h=a"
    echo "m 1793663999 6 h=a" # the last one of November 2 in UTC
} >points.txt
tsd import points.txt --data data
echo 'timezone = Europe/Berlin' >tsd.conf
day="2026/11/02 2026/11/02 sum m"
echo "== a folder"
tsd scan $day --import --data data
tsd scan $day --import --data data --config tsd.conf
tsd scan $day --import --data data --config tsd.conf --tz UTC
TSD_TIMEZONE=Europe/Berlin tsd scan $day --import --data data
tsd query $day --times epoch --format csv --data data --config tsd.conf
tsd delete $day --dry-run --data data --config tsd.conf
tsd delete $day --dry-run --data data --config tsd.conf --tz America/New_York
echo "== pages"
tsd scan $day --import --limit 1 --data data --config tsd.conf | tee page.txt
after=$(sed -n 's/^# after //p' page.txt)
tsd scan 2026/11/01 2026/11/03 sum m --import --after "$after" --data data
tsd scan $day --import --after "${after%%.*}" --data data
for wrong in x 1 1. 1.x 2.1 .2 1.2.3 1.99999999999999999999; do
    tsd scan $day --import --after "${after%%.*}.$wrong" --data data
done
echo "== a daemon"
start data --config tsd.conf --query-allow-delete true
tsd scan $day --import --port $port
tsd scan $day --import --port $port --tz UTC
tsd scan $day --import --limit 1 --port $port | tee page.txt
tsd scan 2026/11/01 2026/11/03 sum m --import --after "$(sed -n 's/^# after //p' page.txt)" --port $port
tsd delete $day --dry-run --port $port
tsd scan $day --delete --port $port
tsd scan 2026/11/01 2026/11/03 sum m --import --port $port
tsd delete 2026/11/03 2026/11/03 sum m --port $port
tsd scan 2026/11/01 2026/11/03 sum m --import --port $port
tsd scan 2026/11/01 sum
stop
tsd scan $day --port $port 2>&1 | sed 's/ *(start.*//'
