#!/usr/bin/env bash
# A real HBase 2.5 for tests: master, region server and ZooKeeper in one process on the local file system, and the
# Thrift2 gateway in a second one, on 127.0.0.1 only. Needs Java 11 or 17, and Maven for `fetch`.
#   tests/hbase/hbase.sh fetch    the jars from Maven Central, about 110 MB, once
#   tests/hbase/hbase.sh start    empty; returns when a table can be made and read through the gateway
#   tests/hbase/hbase.sh stop     ends both and removes the data
#   tests/hbase/hbase.sh kill NAME | again NAME    kill -9 of one process, hbase or thrift (the gateway), and a new start over its data
# Variables: HBASE_DIR (build/hbase), HBASE_THRIFT_PORT (19290; ZooKeeper, master and region server have the next three ports), HBASE_SESSION_MS
# (180000): for so long HBase takes a process that was killed for a living one.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${HBASE_DIR:-$here/../../build/hbase}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
port=${HBASE_THRIFT_PORT:-19290}
lib=$dir/lib run=$dir/run
session_ms=${HBASE_SESSION_MS:-180000} # a busy machine may starve it

die() { echo "hbase.sh: $*" >&2; exit 1; }

# Java 9 and later hide what Hadoop 2 and Netty reach into.
java_options=(--add-modules jdk.unsupported
    --add-opens java.base/java.nio=ALL-UNNAMED --add-opens java.base/sun.nio.ch=ALL-UNNAMED
    --add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.lang.reflect=ALL-UNNAMED
    --add-opens java.base/java.io=ALL-UNNAMED --add-opens java.base/java.net=ALL-UNNAMED
    --add-opens java.base/java.util=ALL-UNNAMED --add-opens java.base/java.util.concurrent=ALL-UNNAMED
    --add-exports java.base/jdk.internal.misc=ALL-UNNAMED --add-exports java.base/sun.net.dns=ALL-UNNAMED
    --add-exports java.base/sun.net.util=ALL-UNNAMED --add-exports java.security.jgss/sun.security.krb5=ALL-UNNAMED
    -Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true
    -Djava.net.preferIPv4Stack=true -XX:+UseSerialGC)

fetch() {
    [ ! -f "$lib/.complete" ] || return 0
    command -v mvn >/dev/null || die "Maven is not installed; scripts/setup hbase installs it"
    rm -rf "$lib"
    local i
    for i in 1 2 3; do # Maven Central is not always in the mood
        (cd "$here" && mvn -q -B dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$lib") && break
        [ "$i" = 3 ] && die "the jars could not be fetched"
        sleep 5
    done
    ls "$lib"/hbase-server-*.jar "$lib"/hbase-thrift-*.jar >/dev/null || die "the jars are not complete"
    touch "$lib/.complete"
}

property() { printf '<property><name>%s</name><value>%s</value></property>\n' "$1" "$2"; }

write_conf() {
    mkdir -p "$run/conf" "$run/log" "$run/data" "$run/zk" "$run/tmp"
    {
        echo '<?xml version="1.0"?><configuration>'
        property hbase.rootdir "file://$run/data"
        property hbase.tmp.dir "$run/tmp"
        property hbase.cluster.distributed false
        # Writes to the log of a killed process must survive it, or HBase's own tables are damaged: without checksums they go to the system at once.
        property fs.file.impl org.apache.hadoop.fs.RawLocalFileSystem
        # the local file system cannot sync; HBase refuses to start on it without this
        property hbase.unsafe.stream.capability.enforce false
        property hbase.wal.provider filesystem
        property hbase.zookeeper.quorum 127.0.0.1
        property hbase.zookeeper.property.clientPort $((port + 1))
        property hbase.zookeeper.property.clientPortAddress 127.0.0.1
        property hbase.zookeeper.property.dataDir "$run/zk"
        property hbase.zookeeper.property.admin.enableServer false
        property zookeeper.session.timeout "$session_ms"
        property zookeeper.session.timeout.localHBaseCluster "$session_ms" # what counts where all is one process: 10 s by default
        property hbase.zookeeper.property.tickTime $((session_ms / 20)) # ZooKeeper caps sessions at 20 ticks
        property hbase.master.hostname 127.0.0.1
        property hbase.regionserver.hostname 127.0.0.1
        property hbase.unsafe.regionserver.hostname 127.0.0.1
        property hbase.master.ipc.address 127.0.0.1
        property hbase.regionserver.ipc.address 127.0.0.1
        property hbase.master.port $((port + 2))
        property hbase.regionserver.port $((port + 3))
        property hbase.master.info.port -1
        property hbase.regionserver.info.port -1
        property hbase.thrift.info.port -1
        property hbase.localcluster.assign.random.ports false
        property hbase.master.wait.on.regionservers.mintostart 1
        property hbase.master.wait.on.regionservers.maxtostart 1
        property hbase.master.wait.on.regionservers.interval 200
        property hbase.regionserver.handler.count 16
        # limits of a small heap
        property hbase.ipc.server.max.callqueue.size 67108864
        property hbase.ipc.server.max.callqueue.length 160
        property hbase.regionserver.global.memstore.size 0.3
        property hbase.hregion.memstore.flush.size 33554432
        property hfile.block.cache.size 0.2
        property hbase.thrift.minWorkerThreads 8
        property hbase.regionserver.thrift.ipaddress 127.0.0.1
        property hbase.regionserver.thrift.port "$port"
        property hbase.thrift.server.socket.read.timeout 600000
        # while HBase is away the gateway keeps each request, given up by its sender or not, until its own calls to HBase end: 20 minutes by default
        property hbase.client.operation.timeout 60000
        property hbase.client.meta.operation.timeout 60000
        echo '</configuration>'
    } >"$run/conf/hbase-site.xml"
    printf '%s\n' 'log4j.rootLogger=WARN,A' 'log4j.appender.A=org.apache.log4j.ConsoleAppender' 'log4j.appender.A.target=System.err' \
        'log4j.appender.A.layout=org.apache.log4j.PatternLayout' 'log4j.appender.A.layout.ConversionPattern=%d %p [%t] %c{2}: %m%n' \
        'log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR' 'log4j.logger.org.apache.hadoop.metrics2=ERROR' >"$run/conf/log4j.properties"
}

# NAME HEAP CLASS: a process of its own session, its number in run/NAME.pid
begin() {
    (cd "$run" && exec setsid java "${java_options[@]}" "-Xmx$2" -Djava.io.tmpdir="$run/tmp" -cp "$run/conf:$lib/*" "$3" start) \
        </dev/null >>"$run/log/$1.out" 2>>"$run/log/$1.log" 9>&- &
    echo $! >"$run/$1.pid"
}

begin_one() { # NAME
    case $1 in
    hbase) begin hbase 1g org.apache.hadoop.hbase.master.HMaster ;;
    thrift) begin thrift 1536m org.apache.hadoop.hbase.thrift2.ThriftServer ;;
    *) die "no process $1; there are hbase and thrift" ;;
    esac
}

end() { # NAME
    local pid i
    [ -s "$run/$1.pid" ] || return 0
    pid=$(cat "$run/$1.pid")
    kill -TERM "$pid" 2>/dev/null || true
    for i in $(seq 1 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
    kill -KILL "$pid" 2>/dev/null || true # its data is removed anyway
    rm -f "$run/$1.pid"
}

stop() { end thrift; end hbase; rm -rf "$run/data" "$run/zk" "$run/tmp"; }

start() {
    [ -f "$lib/.complete" ] || die "run 'hbase.sh fetch' first"
    stop
    rm -rf "$run/log"
    write_conf
    begin_one hbase
    begin_one thrift
    python3 "$here/thrift2.py" wait "127.0.0.1:$port" 180 || {
        tail -n 30 "$run/log/hbase.log" "$run/log/thrift.log" >&2
        stop
        die "HBase did not start"
    }
    echo "hbase.sh: ready, Thrift2 on 127.0.0.1:$port, logs in $run/log"
}

case ${1:-} in
fetch) fetch ;;
start) start ;;
stop) stop ;;
kill) kill -KILL "$(cat "$run/${2:-}.pid")" ;;
again) begin_one "${2:-}" ;;
*) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
