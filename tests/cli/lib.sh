# Functions for cases of tests/cli; read by run.sh. The case runs in an empty folder.

# tsd ARGUMENTS: run it and print its exit code if that is not 0. Rates and times are taken out of what it says.
tsd() {
    "$TSD" "$@" 2>stderr.txt
    code=$?
    sed -E 's/in [0-9.]+ s \([0-9,]+ points\/s\)/in TIME/; s/(127\.0\.0\.1):[0-9]+/\1:PORT/g' stderr.txt >&2
    [ $code = 0 ] || echo "exit $code"
    return 0
}

pids=""

# start DIR [OPTIONS]: a daemon on a free port; its port is in $port.
start() {
    dir=$1
    shift
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$TSD" serve --data "$dir" --port "$port" --self-metrics false "$@" >"$dir.log" 2>&1 &
    pid=$!
    pids="$pids $pid"
    tries=0
    until "$TSD" flush --port "$port" 2>/dev/null; do
        tries=$((tries + 1))
        if [ $tries -gt 400 ] || ! kill -0 $pid 2>/dev/null; then
            echo "the daemon did not start:"
            cat "$dir.log"
            exit 1
        fi
        sleep 0.05
    done
}

# stop: the daemon started last ends in order.
stop() {
    kill "$pid"
    wait "$pid"
    code=$?
    [ $code = 0 ] || { echo "the daemon ended with $code"; cat "$dir.log"; }
    pids=$(echo "$pids" | sed "s/ $pid\$//")
}

# stop_all: what a case left running.
stop_all() {
    for p in $pids; do
        kill "$p" 2>/dev/null && wait "$p"
    done
    pids=""
}
trap stop_all EXIT
