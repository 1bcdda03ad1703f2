# Tables of Markdown: series, totals with units and several columns, newest points; nothing found; the daemon and a folder print the same.
cat >hits.txt <<'END'
web_hits 1793577600 5 domain=a.org
web_hits 1793581200 7 domain=a.org
web_hits 1793581200 2.5 domain=b_x.org
web_hits 1793664000 1 domain=b_x.org
END
start data
tsd import --port $port hits.txt
tsd metric set web_hits unit=bytes --port $port
all() {
    tsd query "$@" 2026/11/02 2026/11/03 sum web_hits domain='*' --format markdown
    tsd query "$@" 2026/11/02 2026/11/03 sum web_hits --by day,domain --format markdown
    tsd query "$@" 2026/11/02 2026/11/04 sum web_hits max web_hits --by day --fill null --partial --format markdown
    tsd query "$@" 2026/11/02 2026/11/03 sum web_hits --by domain,day --columns domain --format markdown
    tsd query "$@" 2025/11/02 2025/11/03 sum web_hits --format markdown
    tsd last "$@" web_hits --format markdown
}
all --port $port 2>&1 | tee remote.txt
curl -s -H 'Accept: text/markdown' -o curl.txt -w '%{content_type}\n' "http://127.0.0.1:$port/api/query?start=2026/11/02&end=2026/11/03&m=sum:web_hits%7Bdomain=*%7D"
head -n 3 curl.txt
stop
all --data data >local.txt 2>&1
cmp remote.txt local.txt && echo same
