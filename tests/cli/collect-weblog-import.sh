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
