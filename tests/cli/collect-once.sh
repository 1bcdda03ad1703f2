# A page that does not answer is an error with --once: where --only or its key asks for it. What was read is printed all the same.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
once() {
    "$TSD" collect --once --format text --host web1 --collect-dir none --collect-scrape "http://127.0.0.1:$port/metrics" "$@" >points.txt 2>stderr.txt
    echo "exit $?"
    grep -oE '\bup [0-9]+ 0 .*' points.txt | sed -E 's/ [0-9]{10,13} / TIME /; s/127.0.0.1_[0-9]+/ADDRESS/g'
    grep '^tsd: ' stderr.txt | sed -E 's/(127\.0\.0\.1):[0-9]+/\1:PORT/g'
}
once --only scrape
once --only load,scrape
