# Plain, gzip, zstd and standard input; a cut file says so after its whole lines were taken.
i=0
while [ $i -lt 3000 ]; do
    echo "m $((1793620800 + i)) $i host=a"
    i=$((i + 1))
done >points.txt
split -n l/3 points.txt part.
gzip part.aa && zstd -q --rm part.ab
start data
tsd import --port $port part.aa.gz part.ab.zst - <part.ac
tsd export --port $port | cmp - points.txt && echo same
stop
gzip -c points.txt | head -c 3000 >cut.gz
tsd import --data local cut.gz 2>&1 | sed -E 's/^tsd: [0-9,]+ points/tsd: some points/'
head -n 100 points.txt >want.txt
tsd export --data local | head -n 100 | cmp - want.txt && echo "same as far as it goes"
