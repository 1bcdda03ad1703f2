# OpenTSDB's form; the daemon and a folder print the same.
cat >cpu.txt <<'END'
cpu 1793620800 1 host=a
cpu 1793620860 3 host=a
cpu 1793620800 10 host=b
cpu 1793620860 30.5 host=b
cpu 1793620920 50 host=b
END
start data
tsd import --port $port cpu.txt
q() { tsd query --port $port "$@"; }
all() {
    q 2026/11/02 2026/11/03 sum cpu
    q 2026/11/02 2026/11/03 none cpu
    q 2026/11/02 2026/11/03 sum cpu host='*'
    q 2026/11/02 2026/11/03 sum downsample 120000 avg cpu host=b
    q 2026/11/02 2026/11/03 sum rate cpu host=b
    q 2026/11/02 2026/11/03 sum cpu host=b max cpu host=a
    q 2026/11/02 2026/11/03 sum cpu --format json
    q 2026/11/02 2026/11/03 sum cpu host=a --format csv
}
all | tee remote.txt
stop
q() { tsd query --data data "$@"; }
all >local.txt
cmp remote.txt local.txt && echo same
# times: the day named as the end is in the range; zones, milliseconds, forms of times
printf 'ms 1793620800100 1 a=b\nms 1793620800200 2 a=b\n' | tsd import --data data -
q 2026-11-02 2026-11-02 sum ms
q 2026-11 2026-11 sum ms --ms --tz Asia/Kathmandu
q 2026-11-02T12:00:00Z 2026-11-02T18:00:00+05:45 sum ms --ms --format csv
q 2026/11/1 2026/11/2 sum ms --ms --format csv --times iso --tz Asia/Kathmandu
q 2026-11-02 2026-11-02 sum ms --times epoch
# forms that know all series: columns for series and for tag keys; a point a line
printf 'two 1793620800 1 host=a zone=x\ntwo 1793620860 2.5 host=a zone=x\ntwo 1793620860 7 host=b\n' | tsd import --data data -
for f in csv-wide csv-tags ndjson-points; do
    q 2026-11-02 2026-11-02 sum two 'host=*' --format $f
    q 2026-11-02 2026-11-02 sum two --by hour,host --format $f
done
q 2026-11-02 2026-11-02 sum two 'host=*' --format csv-wide --times iso --tz Asia/Kathmandu
q 2026-11-02 2026-11-02 sum two 'host=*' --format ndjson-points --times iso --tz Asia/Kathmandu
q 2026-11-02 2026-11-02 sum nothing --format csv-wide
