# Totals by day, hour and tags in all forms; END as a date includes its day.
cat >hits.txt <<'END'
web.hits 1793491200 1 domain=a.org host=web1
web.hits 1793494799 2 domain=a.org host=web2
web.hits 1793494800 3 domain=b.org host=web1
web.hits 1793577600 4 domain=a.org host=web1
web.hits 1793750399 5 domain=c.org host=web1
web.hits 1793750400 6 domain=a.org host=web1
END
start data
tsd import --port $port hits.txt
q() { tsd query --port $port "$@"; }
q 2026/11/01 2026/11/03 sum web.hits --by day
q 2026/11/01 2026/11/03 sum web.hits --by hour
q 2026/11/01 2026/11/03 sum web.hits --by hour,domain
q 2026/11/01 2026/11/03 sum web.hits --by hour,domain --format csv
q 2026/11/01 2026/11/03 avg web.hits --by domain --format csv
q 2026/11/01 2026/11/01 sum web.hits --by day,domain --format json
q 2026/11/01 2026/11/05 count web.hits --by day --fill zero
q 2026/11/01 2026/11/03 sum web.hits --by day --tz Europe/Berlin
q 2026/11/01 2026/11/03 sum web.hits host=web1 --by host,day
stop
tsd query 2026/11/01 2026/11/03 sum web.hits --by hour,domain --format csv --data data
tsd query 2026/11/01 2026/11/03 sum web.hits --by day --data data
