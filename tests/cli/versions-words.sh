# tsd versions: words, lists; queries as of a time.
start data
tsd versions --port $port
tsd versions set stats.users 3 --port $port | sed 's/since .*/since TIME/'
tsd versions set stats.users 5 --port $port | sed 's/since .*/since TIME/'
printf 'stats.users 1793620800 5 country=nz\nstats.pages 1793620800 5 country=nz\n' >points
tsd import points --port $port | sed 's/ in .*/ in TIME/'
tsd query 2026/11/02 2026/11/03 sum stats.users --as-of now --port $port
for format in text csv json; do tsd query 2026/11/02 2026/11/03 none stats.users --versions --format $format --port $port | sed 's/written 20[^ ]*/written TIME/; s/,[0-9]\{13\},/,TIME,/; s/"written":[0-9]*/"written":TIME/'; done; echo
stop
echo "== a folder"
tsd versions --data data | sed 's/since .*/since TIME/'
tsd query 2026/11/02 2026/11/03 sum stats.users --as-of now --data data
tsd query 2026/11/02 2026/11/03 sum stats.pages --as-of now --data data
tsd query 2026/11/02 2026/11/03 sum stats.users --as-of 2026/11/03 --data data 2>&1 | sed 's/since 2.*, so/since TIME, so/'
tsd query 2026/11/02 2026/11/03 sum stats.users --as-of then --data data
tsd query 2026/11/02 2026/11/03 sum stats.users --versions --data data
tsd query 2026/11/02 2026/11/03 none stats.users --versions --as-of now --data data
tsd query 2026/11/02 2026/11/03 none stats.users --versions --format ndjson --data data
tsd versions remove stats.users --data data
tsd query 2026/11/02 2026/11/03 sum stats.users --as-of now --data data
echo "== wrong words"
tsd versions show
tsd versions set
tsd versions set stats.users
tsd versions set stats.users 0
tsd versions set stats.users 32
tsd versions set stats.users many
tsd versions list stats.users
tsd versions remove
tsd versions remove stats.users --data data
tsd versions set 'stats users' 3 --data data
tsd versions set 'web.*' 3 --data data
tsd versions set '' 3 --data data
tsd query 2026/11/02 2026/11/03 none stats.users --versions --format markdown --data data
tsd query 2026/11/02 2026/11/03 none stats.users --versions --plot x.png --data data
tsd query 2026/11/02 2026/11/03 none stats.users --as-of '' --data data
start data
tsd versions set 'web.*' 3 --port $port
tsd total add 'web.*' --over host --port $port
tsd total add web.hits --over 'ho*st' --port $port
stop
