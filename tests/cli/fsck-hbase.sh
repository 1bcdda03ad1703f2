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
