# tsd scan: rows as OpenTSDB prints them, lines of import, and deleting; from a folder and from a daemon.
cat >points.txt <<'END'
m 1356998400 42 host=web01 dc=x
m 1356998401 -42 host=web01 dc=x
m 1356998402 257 host=web01 dc=x
m 1356998403 2.5 host=web01 dc=x
m 1356998403500 0.1 host=web01 dc=x
m 1356998404 -2147483649 host=web01 dc=x
m 1357002000 70000 host=web01 dc=x
m 1357002000 5 host=web02 dc=x
n 1357002000 -1e300 host=web02
n -5 1 host=web02
rollup 1h-sum m 1356998400 5 host=web01 dc=x
END
tsd import points.txt --data data
tsd scan 2013/01/01 2013/01/02 sum "m{}" sum n host=web02 --data data | tee rows.txt
tsd scan 1960/01/01 1970/01/01 sum n --data data
tsd scan 2013/01/01-00:00:02 2013/01/01-01:00 avg m host='web*' host=web01 --import --data data
tsd scan 2013/01/01 2013/01/02 sum m host='wildcard(*02)' --import --data data
tsd scan 2013/01/01-02:00 2013/01/02 sum m --data data
tsd scan 2013/01/01 2013/01/01-02:00 sum m --tz Europe/Berlin --import --data data
tsd scan 2013/01/01 2013/01/02 sum m sum n --format csv --data data
tsd scan 2013/01/01 2013/01/02 sum m sum n --format ndjson --data data
tsd scan 2013/01/01 2013/01/02 sum m sum n --keys --data data
tsd scan 2013/01/01 2013/01/02 sum m sum n --keys --format csv --data data
tsd scan 2013/01/01 2013/01/02 sum m --keys --format ndjson --data data
tsd scan 2013/01/01 2013/01/02 sum m sum n --first --import --data data
tsd scan 2013/01/01 2013/01/02 sum m --where 'value > 100' --import --data data
tsd scan 2013/01/01 2013/01/02 sum m sum n --between 01:00-02:00 --import --data data
tsd scan 2013/01/01 2013/01/02 sum m sum n --between 23:00-00:00:02 --import --data data
tsd scan 2013/01/01 2013/01/02 sum m sum n --between 02:00-24:00 --tz Europe/Berlin --import --data data
tsd scan 2013/01/01 2013/01/02 sum m sum n --sample 0.5 --keys --data data
tsd scan 2013/01/01 2013/01/02 sum m sum n --limit 1 --format ndjson --data data
# pages, each behind the token of the one before, are all rows
tsd scan 2013/01/01 2013/01/02 sum m sum n --import --data data >all.txt
pages() {
    rm -f pages.txt
    after=
    while :; do
        tsd scan 2013/01/01 2013/01/02 sum m sum n --import --limit "$1" $after "$2" "$3" >page.txt
        cat page.txt >>pages.txt
        token=$(sed -n 's/^# after //p' page.txt)
        [ -n "$token" ] || break
        after="--after $token"
    done
    sed -n 's/^# after //p' pages.txt
    grep -v '^#' pages.txt | cmp - all.txt && echo all rows
}
pages 1 --data data
pages 3 --data data
for wrong in "--limit 0" "--sample 2" "--between 8-9" "--between 08:00-08:00" "--between 08:00-24:01" "--format xml" "--keys --import" "--keys --first" "--format csv --import" "--delete --first" "--delete --where value>1" "--after x" "--after 9-00-1" "--after 0-00-1" "--prefix 0" "--prefix [1,]" "--startkey xyz" "--prefix 00 --stopkey 01" "--family weeks" "--family hours --first" "--family annotations --import" "--family annotations --where value>1" "--family histograms" "--family histograms --import --prefix 00"; do
    tsd scan 2013/01/01 2013/01/02 sum m $wrong --data data
done
tsd scan 2013/01/01 2013/01/02 sum nothing --data data
tsd scan 2013/01/01 sum
tsd scan 2013/01/01 2013/01/02 wrong m
tsd scan --remove 2013/01/01 2013/01/02 sum m
start data
tsd scan 2013/01/01 2013/01/02 sum "m{}" sum n host=web02 --port $port | cmp - rows.txt && echo same from a daemon
pages 1 --port $port
tsd scan 2013/01/01 2013/01/02 sum m --where 'value > 100' --between 00:00-01:00 --format csv --port $port
tsd scan 2013/01/01 2013/01/02 sum m host=web02 --port $port --delete
tsd scan 2013/01/01 2013/01/02 sum m host=web02 --port $port --import
stop
start data --query-allow-delete true
tsd scan 2013/01/01 2013/01/02 sum m host=web02 --port $port --delete
tsd scan 2013/01/01 2013/01/02 sum m host=web02 --port $port --delete
stop
tsd scan 2013/01/01-00:00:01 2013/01/01-00:00:03 sum m --data data --delete
tsd export --data data
# a page of CSV is a table: its token goes to standard error
tsd scan 2013/01/01 2013/01/02 sum m sum n --limit 1 --format csv --data data >page.csv
cat page.csv
tsd scan 2013/01/01 2013/01/02 sum m sum n --limit 9 --format csv --data data | tail -1
tsd scan 2013/01/01 2013/01/02 sum m sum n --limit 1 --keys --format csv --data data
