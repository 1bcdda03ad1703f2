# Series by tags, series and annotations by their texts and metadata: a daemon and a stopped folder answer alike.
start data
printf 'w.temp 1793620800 1 station=EDDF net=dwd\nw.temp 1793620800 2 station=LFPG net=mf\nw.rain 1793620800 2 station=LFPG\n' |
    "$TSD" import --port "$port" - 2>/dev/null
tsd annotate 2026/11/02-12:00:00 'New "sensor"' w.temp station=EDDF --field by=ops --notes 'by hand' --port "$port"
tsd annotate 1793620801 'Both' w.temp --port "$port"
tsd annotate 1793620802 'Everywhere' --end 1793620900 --port "$port"
tsd annotate 1793620802 'Nowhere' w.temp station=nobody --port "$port"
for where in "--port $port" "--data data"; do
    echo "== ${where%% *}"
    [ "$where" = "--data data" ] && stop
    tsd search lookup w.temp $where
    tsd search lookup station=LFPG $where
    tsd search lookup '*' =LFPG net= --use-data-table $where
    tsd search lookup w.temp --limit 1 $where
    tsd search lookup w.tmep $where
    tsd search tsmeta station:edd* net=dwd $where
    tsd search tsuids w.rain $where
    tsd search uidmeta name:/^w/ $where
    tsd search annotation by:ops $where
    tsd search annotation 'x:/(/' $where
    tsd annotate list 1793600000 now $where
    tsd annotate list 1793600000 now w.temp net=* $where
done
tsd annotate delete 1793620801 1793620801 w.temp --data data
tsd annotate delete 0 now --data data
tsd annotate list 1 now --data data
tsd annotate list 1 now w.temp --data data
tsd annotate sometime x --data data
tsd annotate list 1
tsd annotate 1 x --field by
tsd search lookup
tsd search series x
