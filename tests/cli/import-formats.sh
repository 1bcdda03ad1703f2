# Formats are guessed from the first lines or named; a daemon and a dry run say the same of bad lines.
printf 'cpu,host=a\\ b,dc=x usage=1.5,n=3i,up=t,text="x, y=1 z" 1793620800123456789\n# comment\ncpu,host=b n=18446744073709551615u 1793620801000000000\nmem free=oops 1793620800000000000\nmem\n' >influx.txt
printf '{__name__="up", instance="localhost:9090", job="p"} 1 1793620800123\n{__name__="up"} NaN 1793620800123\n{__name__="up" 1\n' >dump.txt
printf '# HELP a_total Text.\n# TYPE a_total counter\na_total{x="1",path="/a b"} 5 1793620800.5\nb{x="1"} +Inf\nc{le="+Inf"} 1.5e3 1793620801000 # {} 1\nc{le=} 7\n# EOF\n' >open.txt
printf '{"metric":"m","timestamp":1793620800,"value":2.5,"tags":{"host":"web1"}}\n[{"metric":"m","timestamp":1793620801123,"value":"3","tags":{"host":"web 1"}},{"metric":"m"}]\n{"metric":\n\n{"metric":"m","timestamp":1793620802,"value":true,"tags":{"h":"x"}}\n' >lines.json
printf 'sys.load 1793620800 1 host=web1\nput sys.load 1793620860 2.5 host=web1\n' >scan.txt
tsd import --dry-run influx.txt dump.txt open.txt lines.json scan.txt
start data
for f in influx.txt dump.txt open.txt lines.json scan.txt; do
    "$TSD" import --port $port "$f" 2>"$f.err" || true
done
tsd export --port $port
cat *.err | grep -c refused
stop
tsd import --data d --format jsonl --max-errors 0 lines.json lines.json
tsd import --data d --format influx --time-unit ms --tag src=x - <<'EOF'
m v=1 1793620800123
EOF
tsd export --data d | grep src=
head -c 3000 /dev/zero | tr '\0' x >long.txt
echo 'm,a=b v=1 1793620800000000000' >>long.txt
tsd import --dry-run --format influx --max-line 1k long.txt
tsd import --dry-run --format put --tag a=b scan.txt
tsd import --dry-run --format xml scan.txt
# a sample without a time has that of the import
printf 'x{a="b"} 1\n' | tsd import --data s --format openmetrics -
