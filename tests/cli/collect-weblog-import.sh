# Logs go to the first of collect_server; addresses and --max-errors are read as by tsd collect and tsd import.
printf '%s\n' '10.0.0.1 - - [06/Nov/2026:12:00:00 +0000] "GET /a HTTP/1.1" 200 100' nonsense more >access.log
start data
tsd collect weblog-import --server 127.0.0.1:$port,127.0.0.1:1 --collect-dir state --host web1 access.log
tsd collect weblog-import --server 127.0.0.1:$port --collect-dir state --host web1 --max-errors 1 access.log
stop
tsd collect weblog-import --server 127.0.0.1 --format text --collect-dir state --host web1 access.log
tsd collect weblog-import --server '[::1]:4242' --format text --collect-dir state --host web1 access.log
tsd collect weblog-import --server ::1 access.log
tsd collect weblog-import --server 127.0.0.1:port access.log
tsd collect weblog-import --server '' access.log
tsd collect weblog-import --max-errors many access.log
tsd collect weblog-import
# Files that begin alike, with an empty line or junk, are files of their own, again too.
for i in 1 2; do printf '\njunk\n10.0.0.%d - - [06/Nov/2026:12:00:0%d +0000] "GET /a HTTP/1.1" 200 100\n' $i $i >part$i.log; done
start alike
for i in 1 2; do tsd collect weblog-import --server 127.0.0.1:$port --collect-dir state --host web1 --collect-weblog-domain a.org part1.log part2.log 2>&1 | grep counted; done
tsd query 2026/11/06 2026/11/07 sum web.hits --by domain --port $port
# With other keys they would make other points beside these: refused, or the old points are set to 0. What was not imported yet is.
printf '10.0.0.1 - - [06/Nov/2026:12:00:09 +0000] "GET /b/c HTTP/1.1" 404 7\n10.0.0.1 - - [06/Nov/2026:12:00:10 +0000] "GET /b/c HTTP/1.1" 200 7\n' >part3.log
other="--collect-weblog-bucket-s 300 --collect-weblog-domain b.org"
tsd collect weblog-import --server 127.0.0.1:$port --collect-dir state --host web1 $other part1.log part2.log part3.log
tsd query 2026/11/06 2026/11/07 sum web.hits --by domain --port $port
tsd collect weblog-import --server 127.0.0.1:$port --collect-dir state --host web1 $other --replace part1.log part2.log part3.log
tsd query 2026/11/06 2026/11/07 sum web.hits --by domain --port $port
tsd collect weblog-import --server 127.0.0.1:$port --collect-dir state --host web1 $other part1.log
tsd query 2026/11/06 2026/11/07 sum web.bytes --by domain --port $port
stop
