# A folder with many files is read by a process that may open few: sorted files leave descriptors to everything else.
for k in $(seq 50); do
    echo "m $((1000000000 + k * 5529600)) $k host=a" >point
    tsd import --data data point 2>>imported
done
ls data/files | wc -l
for n in 1000 40 36 32; do
    echo "$n descriptors"
    (ulimit -n $n; tsd query --data data 2001/01/01 2015/01/01 sum m --by year)
done
