# Wrong usage of what works on HBase's tables; what they find is in tests/integration/hbase_fsck.py.
tsd fsck --hbase --gateways 127.0.0.1:1,127.0.0.1:2
tsd fsck --hbase --data data
tsd fsck --hbase --repair
tsd fsck --hbase everything
tsd fsck --data data --fix
tsd fsck --hbase --gateways 127.0.0.1:1 --delete values,all,everything
tsd fsck --hbase --gateways 127.0.0.1:1 --duplicates both
tsd fsck --hbase --gateways 127.0.0.1:1 --from yesterday-ish
tsd fsck --hbase --gateways 127.0.0.1:port
tsd uid grep x --hbase --gateways 127.0.0.1:1
tsd uid grep x --hbase --data data
tsd uid grep --hbase --gateways 127.0.0.1:1
tsd uid treesync 1 2 --hbase --gateways 127.0.0.1:1
tsd uid treepurge --hbase --gateways 127.0.0.1:1
tsd uid metasync now --hbase --gateways 127.0.0.1:1
tsd help fsck
# Wrong words are wrong usage, whether HBase answers or not
for words in 'assign metric x' 'rename x a b' 'delete tags x' 'grep tag x' 'grep (' 'fsck repair' 'treesync zero' 'treepurge 1 all' 'metric x'; do
    tsd uid $words --hbase --gateways 127.0.0.1:1
done
# Options of HBase without --hbase
tsd uid metrics x --gateways 127.0.0.1:1
tsd scan 1h-ago sum x --salt-width 1 --data data
tsd scan 1h-ago sum x --opentsdb-config opentsdb.conf --data data
