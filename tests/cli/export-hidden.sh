# Rollups and histograms are exported as lines and imported again, the same, into a folder and into a daemon.
printf 'rollups = true\nrollups_config = 1m,1h,1d\nhistograms_config = {"net.opentsdb.core.SimpleHistogramDecoder":0}\nquery_allow_delete = true\n' >tsd.conf
cat >lines.txt <<'END'
put m 1793620800 1 a=b
rollup 1h-sum m 1793620800 60 a=b
rollup 1h-sum m 1793624400 61.5 a=b
rollup 1h-count m 1793620830 60 a=b
rollup 1h-sum m 1793620800 7 a=c
rollup sum m 1793620801 5 dc=x
rollup 1h-sum:max m 1793620800 9 dc=x
rollup 1d-min put 1793620800 9 a=b
histogram h 1793620800 u=1:0,1.5=42:o=7 a=b
histogram h 1793620860123 0,1.5=1:1.5,3=2 a=b
histogram h 1793620800 0,0.1=5 a=c z=y
put histogram 1793620800 5 a=b
put rollup 1793620801 6 a=b
histogram 1500 1793620800 u=3:o=4 a=b
put histogram 1793620802 5 u=b
END
tsd import --data one lines.txt --config tsd.conf
tsd export --data one >one.txt
cat one.txt
tsd import --data two one.txt
tsd export --data two | cmp - one.txt && echo same in a folder
tsd flush --data two --compact
tsd export --data two | cmp - one.txt && echo same when compacted
start three --config tsd.conf
tsd import --port $port one.txt
tsd export --port $port | cmp - one.txt && echo same in a daemon
tsd export --port $port m a=c
tsd export --port $port h 'a=b|c' --from 1793620801
echo "== stars"
tsd export --port $port '*' | cmp - one.txt && echo the same as all
tsd export --port $port '*' a=c
tsd export --port $port 'h*'
tsd export --port $port '*ut' a=b
tsd export --port $port 'x*'
tsd query 1793600000 1793700000 sum downsample 1h sum m a=b --port $port
stop
tsd query 1793620800 1793620900 sum histogram --data three
# what a daemon without rollups and histograms says, and lines that are none
start four
tsd import --port $port one.txt
stop
printf 'rollup\nrollup 1h-sum m\nrollup 1h m 1793620800 1 a=b\nrollup 1q-sum m 1793620800 1 a=b\nrollup 1h-what m 1793620800 1 a=b\nrollup 1h- m 1793620800 1 a=b\nhistogram h 1793620800 u=x a=b\nhistogram h 1793620800\nhistogram\n' >bad.txt
tsd import --data five bad.txt
