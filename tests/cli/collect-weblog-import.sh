# Logs go to the first of collect_server; addresses and --max-errors are read as by tsd collect and tsd import.
printf '%s\n' '10.0.0.1 - - [06/Nov/2026:12:00:00 +0000] "GET /a HTTP/1.1" 200 100' nonsense more >access.log
start data
tsd collect weblog-import --server 127.0.0.1:$port,127.0.0.1:1 --host web1 access.log
tsd collect weblog-import --server 127.0.0.1:$port --host web1 --max-errors 1 access.log
stop
tsd collect weblog-import --server 127.0.0.1 --format text --host web1 access.log
tsd collect weblog-import --server '[::1]:4242' --format text --host web1 access.log
tsd collect weblog-import --server ::1 access.log
tsd collect weblog-import --server 127.0.0.1:port access.log
tsd collect weblog-import --server '' access.log
tsd collect weblog-import --max-errors many access.log
tsd collect weblog-import
# Files that begin alike, with an empty line or junk, are files of their own, again too.
for i in 1 2; do printf '\njunk\n10.0.0.%d - - [06/Nov/2026:12:00:0%d +0000] "GET /a HTTP/1.1" 200 100\n' $i $i >part$i.log; done
start alike
for i in 1 2; do tsd collect weblog-import --server 127.0.0.1:$port --host web1 --collect-weblog-domain a.org part1.log part2.log 2>&1 | grep counted; done
tsd query 2026/11/06 2026/11/07 sum web.hits --by domain --port $port
stop
