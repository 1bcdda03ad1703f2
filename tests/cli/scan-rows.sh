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
tsd scan 2013/01/01 2013/01/02 sum nothing --data data
tsd scan 2013/01/01 sum
tsd scan 2013/01/01 2013/01/02 wrong m
tsd scan --remove 2013/01/01 2013/01/02 sum m
start data
tsd scan 2013/01/01 2013/01/02 sum "m{}" sum n host=web02 --port $port | cmp - rows.txt && echo same from a daemon
tsd scan 2013/01/01 2013/01/02 sum m host=web02 --port $port --delete
tsd scan 2013/01/01 2013/01/02 sum m host=web02 --port $port --import
stop
start data --query-allow-delete true
tsd scan 2013/01/01 2013/01/02 sum m host=web02 --port $port --delete
tsd scan 2013/01/01 2013/01/02 sum m host=web02 --port $port --delete
stop
tsd scan 2013/01/01-00:00:01 2013/01/01-00:00:03 sum m --data data --delete
tsd export --data data
