# An empty answer says on standard error what there is that is near; the daemon and a folder say the same.
cat >hits.txt <<'EOF'
web.hits 1793491200 10 domain=a.org host=web1
web.hits 1793577600 2 domain=b.org host=web2
web.hits 1793664000 3 domain=c.org
EOF
start data
tsd import --port $port hits.txt
# a key of --by may be the beginning of more names than one answer has
awk 'BEGIN { for (i = 0; i < 1251; i++) { printf "many 1793491200 1"; for (k = 0; k < 8; k++) printf " hst%d=v", 8 * i + k; print "" } }' >many.txt
tsd import --port $port many.txt
all() {
    q 2025/11/01 2025/11/03 sum web.hits
    q 2026/11/05 2026/11/06 sum web.hits --by day
    q 2026/11/01 2026/11/04 sum web.hits domain=d.org
    q 2026/11/01 2026/11/04 sum web.hits domain=d.org --by day --format csv
    q 2026/11/01 2026/11/04 sum web.hits 'status=~5..' --format json
    q 2026/11/01 2026/11/04 sum web.hits 'domain=wildcard(x*)' host=web9 --format csv
    q 2026/11/01 2026/11/04 sum web.hits domain=a.ogr --by day --format csv
    q 2026/11/01 2026/11/04 sum web.hits 'domain=a.org|x' 'host=wbe2' --format csv
    q 2026/11/01 2026/11/04 sum web.hits --where 'value>99'
    q 2026/11/01 2026/11/04 sum web.hits --by domain --format json
    q 2026/11/01 2026/11/04 sum web.hitsdomain=a.org web.hitshost=web1 --by day
    # a key of --by that is neither a unit nor a tag is a wrong word of the command line; a metric that is missing is not
    q 2026/11/01 2026/11/04 sum web.hits --by dya
    q 2026/11/01 2026/11/04 sum web.hits --by domain,hst --format json
    q 2026/11/01 2026/11/04 sum web.hist --by dya
}
q() { tsd query --port $port "$@"; }
all >remote.txt 2>&1
cat remote.txt
stop
q() { tsd query --data data "$@"; }
all >local.txt 2>&1
cmp remote.txt local.txt && echo same
