# tsd retention --explain, and --dry-run: what rules do, with estimates that are said to be some, and when.
awk 'BEGIN { for (h = 0; h < 3; h++) for (t = 0; t < 2 * 86400; t += 600) print "cpu.user", 1577836800 + t, t % 97, "host=h" h }' >points.txt
tsd import points.txt --data data 2>/dev/null
say() {
    tsd retention "$@" --data data | sed -E 's/before [^ ;,]*/before T/; s/about [0-9.]+ ([KMG]iB|bytes?|B) /about N bytes /g'
}
say --explain
echo "== a dry run"
say add 'cpu.*' host=h1 points=30d --dry-run
say add 'cpu.*' points=9000d --dry-run
say add 'cpu.*' points=30d hours=forever --dry-run
say add 'mem.*' points=30d hours=60d days=forever --dry-run
echo "== nothing was set"
say list
