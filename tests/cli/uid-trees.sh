# Trees: a daemon and a stopped folder answer alike.
start data --meta-allow-delete true
printf 'w.temp 1793620800 1 station=EDDF\n' | "$TSD" import --port "$port" - 2>/dev/null
for tree in name=Stations\&enabled=true name=Other; do
    python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], b"")' "http://127.0.0.1:$port/api/tree?$tree"
done
for where in "--port $port" "--data data"; do
    echo "== ${where%% *}"
    [ "$where" = "--data data" ] && stop
    tsd uid treesync $where
    tsd uid treesync 2 $where
    tsd uid treesync 7 $where
    tsd uid treesync x $where
    tsd uid treepurge 1 $where
    tsd uid treepurge 1 rules $where
    tsd uid treepurge $where
done
tsd uid treepurge 1 definition --data data
tsd uid treepurge 2 true --data data
tsd uid treesync --data data
