# The first lines of each file say how all of it looks; a file of no known format is left out as a whole, and so is one that is followed.
line='- - [06/Nov/2026:12:00:00 +0000] "GET /a HTTP/1.1" 200 100'
printf '%s\n' '200 5 "-" "cut"' '' "a.org:80 ::1 $line" "10.0.0.1 $line" "host.example $line" >vhost.log
printf '%s\n' "host.example $line" "10.0.0.1 $line \"-\" \"-\"" "a_org 10.0.0.1 $line" >combined.log
printf '%s\n' '{"time": 1793966400, "status": 404, "host": "j.org", "uri": "/j"}' | gzip >json.log.gz
printf '%s\n' "10.0.0.1 $line" "10.0.0.2 $line" | tr ' ' '\t' >tabs.log
printf '%s\n' "b_org 10.0.0.1 $line" >odd.log
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
# Logs that name their fields, of load balancers and of servlet containers; packed ones too.
printf '#Software: Microsoft Internet Information Services 10.0\r\n#Fields: date time cs-uri-stem c-ip cs-host sc-status sc-bytes time-taken\r\n2026-11-06 12:00:00 /a 192.0.2.7 iis.example 200 100 15\r\n' >u_ex261106.log
printf '#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer)\n2026-11-06\t12:00:00\tLAX1\t100\t192.0.2.1\tGET\td1.cloudfront.net\t/a\t200\t-\tcurl\t-\t-\tHit\tID\tcdn.example\thttps\t23\t0.001\n' | gzip >E1.2026-11-06-12.abcd.gz
printf 'Nov  6 12:00:00 lb haproxy[7]: 192.0.2.1:33317 [06/Nov/2026:12:00:00.655] web app/one 10/0/30/69/109 200 100 - - ---- 1/1/1/1/0 0/0 "GET https://lb.example/a HTTP/2.0"\n' >haproxy.log
printf '%s\n' "tomcat.example 10.0.0.1 $line" >localhost_access_log.txt
# Requests of programs are dropped where that is wanted, whatever the format.
printf '%s\n' "10.0.0.1 $line \"-\" \"Mozilla/5.0 (compatible; Googlebot/2.1)\"" "10.0.0.1 $line \"-\" \"Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0\"" "10.0.0.1 $line \"-\" \"-\"" >agents.log
printf '%s\n' '{"time": 1793966400, "status": 200, "host": "j.org", "http_user_agent": "curl/8.5"}' >agents.json
import --collect-weblog-bots drop agents.log agents.json
import agents.log agents.json
TZ=UTC import u_ex261106.log E1.2026-11-06-12.abcd.gz haproxy.log localhost_access_log.txt
# Servers that begin a file every day put the date into its name: it makes no domain, and neither do the names that Tomcat and IIS give.
for day in 20 21; do
    echo "10.0.0.1 $line" >localhost_access_log.2026-11-$day.txt
    echo "10.0.0.1 $line" >example.org_access.2026-11-$day.txt
    printf '#Fields: date time cs-uri-stem sc-status\r\n2026-11-06 12:00:00 /a 200\r\n' >u_ex2611$day.log
done
import *.2026-11-*.txt u_ex26112*.log | grep -o "^put web.hits.*"
