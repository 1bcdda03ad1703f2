# tsd scan: ranges of keys, patterns of metrics, and the families of hours, annotations and histograms; from a folder and from a daemon.
cat >points.txt <<'END2'
web.hits 1356998400 42 host=web01
web.hits 1356998401 -42 host=web01
web.hits 1356998402 257 host=web01
web.hits 1356998403 1 host=web01
web.hits 1357002000 70000 host=web01
web.hits 1357005600 9223372036854775807 host=web01
web.hits 1357005601 9223372036854775807 host=web01
web.hits 1356998400 5 host=web02
web.hits 1357002000 6 host=web02
web.time 1356998400 0.5 host=web01
web.time 1356998460 2 host=web01
web.time 1357002000 1.25 host=web01
web.time 1357002001 2.5 host=web01
app.hits 1356998400 7 host=web01 dc=x
web.hits -5 1 host=web01
histogram web.sizes 1356998400 u=0:o=1:0.0,10.0=3 host=web01
histogram web.sizes 1356998460 u=0:o=0:0.0,10.0=4:10.0,20.0=1 host=web01
histogram web.sizes 1357002000.5 u=2:o=0:0.0,10.0=5 host=web01
histogram web.sizes 1357002000 u=0:o=0:0.0,10.0=6 host=web02
END2
tsd import points.txt --data data
scan() {
    tsd scan 2013/01/01 2013/01/02 "$@" --data data
}
echo == keys
scan sum web.hits --keys
scan sum 'web.*' --keys --format csv
scan sum web.hits --keys --format ndjson host=web02
echo == prefixes
scan sum web.hits --prefix '[0, 0, 1]' --import
scan sum web.hits --prefix '[0, 0, 1, 80, -30, 39]' --import
scan sum web.hits --prefix '[0,0,1,80,226,53,16,0,0,1,0,0,2]' --import
scan sum 'web.*' --prefix 00000250E23510 --import
scan sum web.hits --prefix 000003
scan sum web.hits --prefix 0000
scan sum web.hits --prefix FF
echo == ranges
scan sum 'web.*' --startkey 00000150E23510 --import
scan sum 'web.*' --startkey 00000150E23510000001000002 --stopkey 00000250E235 --import
scan sum 'web.*' --stopkey 00000150E23510000001000002 --import
scan sum 'web.*' --startkey 00000150E23510000001000002 --stopkey 00000150E23510000001000002 --import
scan sum web.hits --startkey 000001 --stopkey 0000015 --import
# every range gives the rows whose printed key is in it
scan sum '*' --keys --format csv | sed 1d >all.csv
cut -d, -f1 all.csv | sort >keys.txt
for from in $(cat keys.txt) 00000150E22700 000001 000002 01; do
    for to in $(cat keys.txt) 00000150E2 000003; do
        scan sum '*' --keys --format csv --startkey "$from" --stopkey "$to" | sed 1d >got.csv
        LC_ALL=C awk -F, -v a="$from" -v b="$to" '$1 >= a && $1 < b' all.csv | cmp - got.csv || echo "wrong: $from $to"
    done
done
# times before 1970 have eight bytes
tsd scan 1960/01/01 2013/01/01-00:30 sum web.hits --keys --format csv --data data
tsd scan 1960/01/01 2013/01/01-00:30 sum web.hits --startkey 000001FF --import --data data
tsd scan 1960/01/01 2013/01/01-00:30 sum web.hits --prefix 000001FF --import --data data
tsd scan 1960/01/01 2013/01/01-00:30 sum web.hits --prefix 00000150E22700000001000001 --import --data data
# a token belongs to its series: where that has no key in the range, the next one is read from its beginning
scan sum web.hits --startkey 00000150E22700000001000002 --stopkey 00000150E22700000001000003 --after 0-000001000001000001-376945 --import
echo == hours
scan sum 'web.*' --family hours
scan sum web.time --family hours --format csv
scan sum web.hits --family hours --format ndjson
scan sum web.hits --family hours --import host=web01
scan sum web.hits --family hours --keys --format csv
scan sum web.hits --family hours --where 'value > 6' --format csv
scan sum web.time --family hours --between 01:00:01-02:00 --format csv
tsd scan 2013/01/01-00:00:01 2013/01/01-00:00:02 sum web.hits --family hours --format csv --data data
echo == days
cat >days.txt <<'END2'
mix.m 1356998400 1 host=a
mix.m 1357005600 2.5 host=a
mix.m 1357084801 -3 host=a
mix.m 1357088400 7 host=a
mix.m 1357099200 9 host=b
END2
tsd import days.txt --data data
days() {
    tsd scan 2013/01/01 2013/01/03 "$@" --family days --data data
}
days sum 'web.*'
days sum '*' --format csv
days sum mix.m --format ndjson
days sum web.hits --format csv --where 'value > 6'
days sum web.time --format csv --between 01:00-02:00
days sum '*' --format csv --sample 0.999999 | wc -l
tsd scan 2013/01/01-01:00 2013/01/01-01:59:59 sum web.hits --family days --format csv --data data
days sum '*' --format csv | sed 1d >all.csv
token= n=0
: >paged.csv
while :; do
    days sum '*' --format csv --limit 1 ${token:+--after "$token"} >page.csv 2>more.txt
    grep -v '^metric,' page.csv >>paged.csv
    token=$(sed -n 's/.* --after \([^ ]*\) goes on.*/\1/p' more.txt)
    n=$((n + 1))
    [ -n "$token" ] && [ $n -lt 20 ] || break
done
cmp all.csv paged.csv && echo "the same in $n pages"
days sum mix.m --format csv --tz Europe/Berlin
days sum mix.m --format csv --tz Asia/Kolkata
days sum mix.m --keys
days sum mix.m --first
days sum mix.m --import
days sum mix.m --prefix 000001
tsd scan 2013/01/01 2013/01/02 sum web.hits --family hours --import --data data | tsd import - --data other
tsd export --data other
echo == histograms
scan sum web.sizes --family histograms --import
scan sum web.sizes --family histograms --format csv host=web02
scan sum web.sizes --family histograms --format ndjson
scan sum web.sizes --family histograms --keys --format csv
scan sum web.sizes --family histograms --first --import
scan sum web.sizes --family histograms --between 00:01-01:00 --import
scan sum web.sizes --family histograms --import --limit 1
scan sum web.hits --family histograms --import
echo == annotations
start data
tsd annotate 2013/01/01-00:10 "deployed" web.hits host=web01 --port $port >/dev/null
tsd annotate 2013/01/01-00:20 "rolled back" web.hits host=web01 --port $port >/dev/null
tsd annotate 2013/01/01-01:30 "moved" web.hits host=web02 --port $port >/dev/null
tsd annotate 2013/01/01-01:30 "everywhere" --port $port >/dev/null
notes() {
    tsd scan 2013/01/01 2013/01/02 sum web.hits --family annotations "$@"
}
notes --port $port
notes --port $port --format csv
notes --port $port --format ndjson
notes --port $port --keys
notes --port $port --first --format csv
notes --port $port --between 00:15-01:00 --format csv
notes --port $port --prefix 00000150E23510 --format csv
notes --port $port --limit 1 --format csv
tsd scan 2013/01/01 2013/01/02 sum 'web.*' --family hours --port $port --format csv >remote.txt
scan2() {
    tsd scan 2013/01/01 2013/01/02 sum 'web.*' "$@" --port $port
}
scan2 --family histograms --import --limit 2
scan2 --prefix '[0, 0, 2]' --format csv
tsd flush --compact --port $port >/dev/null
scan2 --family hours --format csv | cmp - remote.txt && echo same from summaries of files
stop
scan sum 'web.*' --family hours --format csv | cmp - remote.txt && echo same from a daemon
scan sum 'nothing.*' --import
echo == days of files
start data2
awk 'BEGIN { for (s = 0; s < 20; s++) for (h = 0; h < 240; h++) print "big.m", 1356998400 + h * 3600, h % 7 + s, "s=s" s }' | tsd import - --port $port 2>/dev/null
tsd scan 2013/01/01-05:00 2013/01/20 sum big.m --family days --format csv --port $port >points.csv
tsd flush --compact --port $port >/dev/null
until [ "$(find data2 -name "*.d" | wc -l)" -gt 0 ]; do sleep 0.05; done
tsd scan 2013/01/01-05:00 2013/01/20 sum big.m --family days --format csv --port $port | cmp - points.csv && echo same from summaries of days
wc -l <points.csv
stop
