# What is wrong and what to do, in one sentence.
tsd serve
tsd serve ./data
tsd serve --data d --wal-sync sometimes
tsd serve --data d --port 70000
tsd serve --data d --shrads 4
echo 'shrads = 4' >wrong.conf
tsd serve --data d --config wrong.conf
tsd serve --data d --config missing.conf
export TSD_SHRADS=4
tsd serve --data d
unset TSD_SHRADS
cat >theirs.conf <<'END'
# as it comes with OpenTSDB
tsd.network.port = 4343
tsd.storage.hbase.data_table = my\u002dtsdb
tsd.storage.salt.buckets : 16
tsd.storage.salt.width=1
tsd.core.auto_create_metrics true
tsd.storage.enable_appends = true
tsd.storage.hbase.zk_quorum = a,\
    b
tsd.http.cachedir =
END
tsd serve --print-config --opentsdb-config theirs.conf --port 5 2>&1 | grep -E 'theirs|^(port|hbase_data_table|hbase_salt_.*|auto_create_metrics) =' |
    sed -E 's/^[0-9TZ:.-]+ //'
printf 'tsd.core.authentication.enable = true \t\r\n' >>theirs.conf
tsd serve --data d --opentsdb-config=theirs.conf 2>&1 | grep authentication
for keys in 'tracking = true' 'tracking = 1,realtime_ts = yes' 'realtime_ts = true' 'tracking = true,tsuid_incrementing = true' 'traking = true' 'tsd.core.enable_api = true,tsd.core.authentication.enable = false'; do
    echo "$keys" | tr ',' '\n' | sed -E 's/^(tra[a-z]*)/tsuid_\1/; /^tsd/!s/^/tsd.core.meta.enable_/' >theirs.conf
    tsd serve --print-config --opentsdb-config theirs.conf 2>&1 | grep -E 'theirs|^(hbase_series_counters|meta_series) =' | sed -E 's/^[0-9TZ:.-]+ //'
done
echo 'tsd.storage.salt.width = 9' >theirs.conf
tsd serve --data d --opentsdb-config theirs.conf
tsd serve --data d --remote hbase --hbase-ship soon
tsd serve --data d --remote hbase --hbase-gateways localhost:x
tsd serve --data d --remote hbase --max-tags 9
printf 'tsd.network.port = 0\ntsd.storage.hbase.zk_quorum = localhost\n' >opentsdb.conf
tsd serve --print-config --config opentsdb.conf 2>&1 | grep -E 'zk_quorum|^port =' | sed -E 's/^[0-9TZ:.-]+ //'
# The keys of one file in the other
printf 'tsd.network.prot = 5\n' >>opentsdb.conf
tsd serve --print-config --config opentsdb.conf 2>&1 | grep 'network.prot' | sed -E 's/^[0-9TZ:.-]+ //'
printf 'tsd.network.port = 5\nhbase_gateways = h:1\n' >opentsdb.conf
tsd serve --print-config --opentsdb-config opentsdb.conf 2>&1 | sed -E 's|^[0-9TZ:.-]+ ||'
tsd hbase status --opentsdb-config opentsdb.conf 2>&1 | grep -v ' info '
