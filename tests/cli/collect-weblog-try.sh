# The preview of a log sends nothing: format, what the first lines say, what is wrong, domains, points; and what is no web log is told as what it is.
line='10.0.0.1 - - [06/Nov/2026:12:00:00 +0000] "GET /a/b HTTP/1.1" 200 100'
printf '%s\n' "$line" nonsense "$line" >access.log
printf '%s\n' "a.org:80 $line" >vhost.log
printf '%s\n' 'put web.hits 1793966400 3 domain=a' >points.txt
printf '%s\n' 'time,path,status,bytes' >table.csv
tsd collect weblog-try access.log points.txt table.csv
gzip vhost.log
tsd collect weblog-try --collect-weblog-path-depth 0 vhost.log.gz
tsd collect weblog-try
# The import says what totals will miss.
tsd collect weblog-import --format text --collect-dir none --host web1 access.log
tsd collect weblog-import --format text --collect-dir none --host web1 points.txt
for i in 1 2 3 4; do printf '%s\n' "d$i.org:80 $line"; done >many.log
tsd collect weblog-import --format text --collect-dir none --collect-weblog-domains 2 --host web1 many.log
# Lines of the future are said, and are bad where an import refuses them.
printf '%s\n' "$line" '10.0.0.1 - - [06/Nov/2099:12:00:00 +0000] "GET /a/b HTTP/1.1" 200 100' >future.log
tsd collect weblog-try future.log
tsd collect weblog-import --format text --collect-dir none --host web1 future.log
# Requests of programs: a tag, or no requests.
printf '%s "-" "curl/8"\n%s "-" "Firefox"\n' "$line" "$line" >agents.log
tsd collect weblog-import --format text --collect-dir none --host web1 --collect-weblog-bots tag agents.log
tsd collect weblog-try --collect-weblog-bots tag agents.log
tsd collect weblog-try --collect-weblog-bots drop agents.log
