# tsd delete: exactly what is asked for, told before and after, in a folder and through a daemon; the switch.
printf 'rollups = true\nrollups_config = 1h\nhistograms_config = {"net.opentsdb.core.SimpleHistogramDecoder":0}\n' >tsd.conf
{
    for h in a b; do
        for t in 0 60 3600; do
            echo "m $((1793577600 + t)) $t h=$h"
            echo "histogram m $((1793577600 + t)) 0,1=$((t + 1)):1,2=2 h=$h"
        done
        echo "rollup 1h-sum m 1793577600 60 h=$h"
        echo "rollup 1h-max m 1793581200 60 h=$h"
    done
} >lines.txt
tsd import lines.txt --data data 2>/dev/null
day="2026/11/02 2026/11/02-23:59:59"
tsd delete $day sum m --kinds all --dry-run --data data
tsd delete $day sum m h=a max m h=b -n --kinds rollups,histograms --data data
tsd export --data data | wc -l
tsd delete 2026/11/02-00:01 2026/11/02-01:00 sum m h=a --data data
tsd delete 2026/11/02-00:01 2026/11/02-01:00 sum m h=a --data data
tsd delete $day sum m h=b --kinds histograms --data data
tsd export --data data
start data --config tsd.conf
tsd delete $day sum m h=b --kinds rollups --port $port
tsd delete $day sum m h=b --kinds rollups --port $port --dry-run
stop
start data --config tsd.conf --query-allow-delete true
tsd delete $day sum m h=b --kinds rollups --port $port
tsd delete $day sum m 'h=a|b' --kinds all --port $port
tsd export --port $port
tsd delete $day sum m --port $port --data data
stop
tsd export --data data
tsd delete 2026/11/02 sum m --data data
tsd delete 2026-11 sum m --dry-run --data data
tsd delete yesterday sum m --data data
tsd scan 2026 sum m --delete --data data
tsd delete 2026-11 2026-11 sum m --dry-run --data data
tsd delete $day sum nothing --data data
tsd delete $day sum m --kinds everything --data data
tsd delete $day sum m --data elsewhere
tsd delete 2026/11/03 2026/11/02 sum m --data data
tsd delete
