# The first lines of each file say how all of it looks; a file of no known format is left out as a whole, and so is one that is followed.
line='- - [06/Nov/2026:12:00:00 +0000] "GET /a HTTP/1.1" 200 100'
printf '%s\n' '200 5 "-" "cut"' '' "a.org:80 ::1 $line" "10.0.0.1 $line" "host.example $line" >vhost.log
printf '%s\n' "host.example $line" "10.0.0.1 $line \"-\" \"-\"" "a.org 10.0.0.1 $line" >combined.log
printf '%s\n' '{"time": 1793966400, "status": 404, "host": "j.org", "uri": "/j"}' | gzip >json.log.gz
printf '%s\n' "10.0.0.1 $line" "10.0.0.2 $line" | tr ' ' '\t' >tabs.log
printf '%s\n' "b.org 10.0.0.1 $line" >odd.log
import() {
    tsd collect weblog-import --format text --host web1 --collect-weblog-path-depth 0 --collect-dir state "$@" 2>&1 |
        sed -E "s/^[0-9TZ:.-]+ (warn|error)/\1/; s/ [0-9]{13} / TIME /"
}
import vhost.log combined.log json.log.gz
import tabs.log odd.log
import --collect-weblog-format '$host $remote_addr - - [$time_local] "$request" $status' odd.log
: | import -
import --collect-weblog "$PWD/combined.log" combined.log | sed "s|$PWD/||"
mkdir state
echo 'no checkpoint' >state/weblog.state
import odd.log json.log.gz
