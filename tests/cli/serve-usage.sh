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
printf 'tsd.network.port = 0\ntsd.storage.hbase.zk_quorum = localhost\n' >opentsdb.conf
tsd serve --print-config --config opentsdb.conf 2>&1 | grep -E 'zk_quorum|^port =' | sed -E 's/^[0-9TZ:.-]+ //'
