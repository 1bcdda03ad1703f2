# Pages come from the table; a mistyped command is guessed.
tsd help
tsd help flush
tsd uid --help | head -n 6
tsd hlep
tsd help imprt
tsd nothing-like-it
tsd help flush query
tsd flush extra
tsd flush --compress
tsd | head -n 1
for c in serve query last import export scan delete uid flush hbase fsck version help; do
    "$TSD" help $c >page.txt || echo "no page for $c"
    for part in Usage: Options: Examples: "Exit codes:"; do
        grep -q "^$part" page.txt || echo "$c: no $part"
    done
done
# other words for commands, and words that stand behind one
tsd weblog-import access.log
tsd weblog-try access.log
tsd latest web.hits
tsd put web.hits
tsd grep web
tsd help mkmetrics
tsd tsd
