# A picture of each kind of answer; a clear word without gnuplot.
i=0
while [ $i -lt 400 ]; do
    echo "web.hits $((1793491200 + i * 977)) $((i % 17 + 1)) domain=d$((i % 14)).org"
    i=$((i + 1))
done >hits.txt
start data
tsd import --port $port hits.txt
for by in day hour day,domain hour,domain domain; do
    tsd query 2026/11/01 2026/11/06 sum web.hits --by $by --plot p.png --port $port
    head -c 8 p.png | od -An -c
    rm p.png
done
tsd query 2026/11/01 2026/11/06 avg downsample 1h avg web.hits domain='*' --plot p.png --port $port
head -c 8 p.png | od -An -c
tsd query 2026/11/01 2026/11/06 sum web.hits --by day --plot p.png --format csv --port $port | head -n 2
rm p.png
tsd query 2025/11/01 2025/11/06 sum web.hits --by day --plot p.png --port $port
tsd query 2026/11/01 2026/11/06 sum web.hits --by day --plot no/such/folder/p.png --port $port
# whatever --by and its options make can be drawn
pic() { tsd query 2026/11/01 2026/11/06 "$@" --plot p.svg --port $port && grep -c '<path' p.svg >/dev/null && echo drawn && rm p.svg; }
pic sum web.hits --by day --partial
pic sum web.hits max web.hits --by hour
pic sum web.hits --by day --compare 1d
pic sum web.hits --by day,domain --columns domain
pic sum web.hits --by weekday,hourofday --columns weekday
pic sum web.hits --by weekday --compare 1w
pic sum web.hits --by day --by domain --sort value
pic sum web.hits sum web.hits domain=d1.org
PATH=/nonexistent "$TSD" query 2026/11/01 2026/11/06 sum web.hits --by day --plot p.png --port $port
stop
# what a name says is what the file holds; - is the terminal, here a pipe; lines stop at long gaps
start data2
i=0
while [ $i -lt 60 ]; do echo "cpu $((1793491200 + i * 60 + i / 30 * 86400)) $i host=a"; i=$((i + 1)); done >cpu.txt
tsd import --port $port cpu.txt
tsd query 2026/11/01 2026/11/03 sum cpu --plot p.svg --port $port
head -c 5 p.svg; echo
python3 -c "import re; print('lines:', re.search(r\"rgb\( 78, 121, 167\)'  d='([^']*)'\", open('p.svg').read())[1].count('M'))"
export LANG=C.UTF-8 LC_ALL= LC_CTYPE=
unset COLUMNS LINES
"$TSD" query 2026/11/01 2026/11/03 sum cpu --plot - --port $port
LANG=C COLUMNS=50 LINES=16 "$TSD" query 2026/11/01 2026/11/03 sum rate cpu --plot - --port $port --tz Europe/Berlin
ls ./- 2>/dev/null
tsd query 2025/11/01 2025/11/03 sum cpu --plot - --port $port
# counts are bars of sums, other metrics lines; with units
printf 'web.hits %s 5 domain=a\n' 1793491200 1793492000 1793498400 1793530000 | tsd import --port $port -
tsd metric set cpu unit=percent --port $port
COLUMNS=60 LINES=14 "$TSD" query 2026/11/01 2026/11/01 sum web.hits --plot - --port $port
COLUMNS=60 LINES=14 "$TSD" query 2026/11/01 2026/11/01 avg web.hits --plot - --port $port
# what all series have in common stands in the title alone
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "shop.hits 1793491200 $((20 - i)) domain=example.org page=p$i host=web1"; done | tsd import --port $port -
tsd metric set shop.hits kind=count --port $port
COLUMNS=60 LINES=8 "$TSD" query 2026/11/01 2026/11/01 sum shop.hits 'page=p1|p2' --plot - --port $port | tail -n 2
COLUMNS=60 LINES=8 "$TSD" query 2026/11/01 2026/11/01 sum shop.hits 'page=*' --plot - --port $port | tail -n 3
COLUMNS=60 LINES=14 "$TSD" query 2026/11/01 2026/11/02 sum web.hits sum cpu --by day --plot - --port $port
COLUMNS=60 LINES=14 "$TSD" query 2026/11/01 2026/11/01 sum web.hits --by domain --plot - --port $port
"$TSD" query 2026/11/01 2026/11/01 avg cpu --plot p.svg --tz Europe/Berlin --port $port
grep -o '[^>]*Europe/Berlin' p.svg
grep -o '[0-9]* %' p.svg | head -n 2
tsd query 2026/11/01 2026/11/03 sum cpu --plot p.pdf --port $port
tsd query 2026/11/01 2026/11/03 sum cpu --plot - --format csv --port $port
stop
COLUMNS=60 LINES=14 "$TSD" query 2026/11/01 2026/11/01 sum web.hits --plot - --data data2
COLUMNS=60 LINES=14 "$TSD" query 2026/11/01 2026/11/01 avg cpu --plot - --data data2
