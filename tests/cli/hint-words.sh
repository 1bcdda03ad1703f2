# Misspelt words, options, values and keys: what is refused names the nearest one.
printf 'web.hits 1793620800 1 domain=example.org\n' >points.txt
tsd import points.txt --data data
echo '# commands and their words'
tsd quer
tsd help colect
tsd uid asign metrics a.b extra --data data
tsd search lokup web.hits --data data
tsd search nothing-like-it web.hits --data data
tsd hbase statsu
tsd copy
tsd copy --from hbase
tsd copy --to ./data
tsd metric shwo web.hits --data data
tsd collect weblog-imprt access.log
echo '# options'
tsd query 2026/11/01 2026/11/04 sum web.hits --formt csv --data data
tsd query 2026/11/01 2026/11/04 sum web.hits -format csv --data data
tsd query 2026/11/01 2026/11/04 sum web.hits --allow_partail --data data
tsd query 2026/11/01 2026/11/04 sum web.hits -x --data data
tsd serve --wal_sync_intervall 5
echo '# values of options'
tsd query 2026/11/01 2026/11/04 sum web.hits --format cvs --data data
tsd last web.hits --format jsn --data data
tsd fsck --data data --format jsno
tsd fsck --data data --format yaml
echo '# aggregators, metrics, tags'
tsd query 2026/11/01 2026/11/04 smu web.hits --data data
tsd query 2026/11/01 2026/11/04 sum hits --data data
tsd query 2026/11/01 2026/11/04 sum web.hits domian=example.org --data data
tsd query 2026/11/01 2026/11/04 sum web.hits --by domian --data data
tsd query 2026/11/01 2026/11/04 sum web.hits --by hourofdya --data data
tsd export web.hist --data data
tsd delete 2026/11/01 2026/11/02 sum web.hist --dry-run --data data
echo '# keys'
printf 'wal_snyc = always\n' >wrong.conf
tsd serve --data data --config wrong.conf
printf 'sync = always\n' >part.conf
tsd serve --data data --config part.conf
TSD_WAL_SNYC=always "$TSD" version >out.txt && head -c 3 out.txt && echo
TSD_WAL_SNYC=always tsd serve --data data
# a variable of another program that is a part of a key's name
TSD_INTERVAL_MS=5 tsd query 2026/11/01 2026/11/04 sum web.hits --data data --format csv
echo '# the daemon'
start data
curl -s "localhost:$port/api/query?start=2026/11/01&m=sum:web.hits&format=cvs"
echo
