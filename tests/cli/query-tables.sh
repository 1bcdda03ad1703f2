# Tables of totals: intervals, the best, columns, comparison, several metrics; the daemon and a folder print the same.
cat >hits.txt <<'EOF'
web.hits 1793491200 10 domain=a.org host=web1
web.hits 1793491260 2 domain=a.org host=web2
web.hits 1793494800 3 domain=b.org host=web1
web.hits 1793577600 4 domain=a.org host=web1
web.hits 1793664000 5 domain=c.org host=web1
web.hits 1793664060 1 host=web1
web.bytes 1793491200 1000 domain=a.org host=web1
EOF
start data
tsd import --port $port hits.txt
all() {
    q 2026/11/01 2026/11/03 sum web.hits --by domain --top 2 --others
    q 2026/11/01 2026/11/03 sum web.hits --by day,domain --columns domain
    q 2026/11/01 2026/11/03 sum web.hits --by day,domain --columns domain --top 1 --others --format json
    q 2026/11/01 2026/11/03 sum web.hits sum web.bytes --by week --format csv --partial
    q 2026/11/02 2026/11/03 sum web.hits --by day --compare 1d
    q 2026/11/01 2026/11/01 sum web.hits --by 10m,host --sort value
    q 2026/11/01 2026/11/03 avg web.hits --by weekday --bottom 1
    q 2026/11/01-00:30 2026/11/03 sum web.hits --by day
    q 2026/11/01 2026/11/03 sum web.hits --sort value
}
q() { tsd query --port $port "$@"; }
all >remote.txt 2>&1
cat remote.txt
stop
q() { tsd query --data data "$@"; }
all >local.txt 2>&1
cmp remote.txt local.txt && echo same
