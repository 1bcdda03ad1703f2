# Summaries of days are of the daemon's zone, whatever commands do with the folder of a stopped daemon.
now=$(date +%s)
awk -v now="$now" 'BEGIN { for (h = 0; h < 200 * 24; h++) print "m", now - h * 3600, h % 50, "a=b" }' >points.txt
days() { tsd query 150d-ago 100d-ago none:1dc-count:m --tz Europe/Berlin --times epoch --port "$port"; }
start data --timezone Europe/Berlin
tsd import points.txt --port "$port" 2>/dev/null
days >before.txt
stop
tsd retention add 'm*' points=30d hours=60d days=forever --data data
for i in 1 2 3; do tsd flush --compact --data data; done
start data --timezone Europe/Berlin
days >after.txt
[ -s before.txt ] && diff before.txt after.txt && echo "days are as before"
