# Fields of names, deletion, checks: a daemon and a stopped folder answer alike.
start data --uid-allow-rename true
tsd mkmetric w.temp w.rain --port "$port"
printf 'w.temp 1793620800 1 station=EDDF\nw.temp 1793620800 2 station=EDDB\n' | "$TSD" import --port "$port" - 2>/dev/null
tsd uid assign tagk network --port "$port"
tsd uid set tagv EDDF place 'Frankfurt am Main' --port "$port"
tsd uid set tagv EDDF height 111 --port "$port"
tsd uid set tagv EDDF displayName Frankfurt --port "$port"
tsd uid set tagv EDDF height '' --port "$port"
tsd uid set tagv nobody place x --port "$port"
for where in "--port $port" "--data data"; do
    echo "== ${where%% *}"
    [ "$where" = "--data data" ] && stop
    tsd uid get tagv EDDF $where
    tsd uid get tagv EDDF place $where
    tsd uid get tagv EDDF height $where
    tsd uid find place:frankfurt $where
    tsd uid find tagv 'name:EDD?' $where
    tsd uid find place:paris $where
    tsd uid grep '^w\.' $where
    tsd uid grep -i tagv '"|eddf' $where
    tsd uid 2 $where
    tsd uid rename metrics nothing x $where
    tsd uid assign kinds x $where
    tsd uid fsck $where
done
tsd uid delete metrics w.rain --data data
tsd uid delete metrics w.rain --data data
tsd uid metrics w.rain --data data
tsd uid set tagk network notes 'to be deleted' --data data
tsd uid delete tagk network --data data
tsd uid fsck fix --data data
tsd mkmetric w.rain --data data
tsd uid assign tagk network --data data
tsd uid get tagk network --data data
tsd mkmetric
tsd uid fsck all --data data
tsd uid get tagv --data data
tsd uid grep --deleted w. --data data
tsd uid rename metrics '~2~w.rain' w.snow --data data
tsd uid grep --deleted metrics w. --data data
