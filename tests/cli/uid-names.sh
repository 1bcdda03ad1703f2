# Names and ids.
printf 'sys.cpu 1793620800 1 host=a dc=lga\nsys.mem 1793620800 1 host=b\n' | "$TSD" import --data data - 2>/dev/null
tsd uid sys.cpu --data data
tsd uid metrics 2 --data data
tsd uid 1 --data data
tsd uid tagk sys.cpu --data data
tsd uid kinds sys.cpu --data data
tsd uid grep '^sys' --data data
tsd uid grep tagv '[ab]' --data data
tsd uid grep -i HOST --data data
tsd uid grep 'a(' --data data
tsd uid grep nothing --data data
tsd uid assign metrics new.one sys.cpu --data data
tsd uid assign metrics 'no good' --data data
tsd uid rename metrics sys.cpu cpu.all --data data
tsd uid rename metrics sys.cpu x --data data
tsd uid rename metrics cpu.all sys.mem --data data
tsd export --data data
tsd uid --data data
tsd uid rename metrics a --data data
i=0
while [ $i -lt 300 ]; do
    echo "m$i 1793620800 1 a=b"
    i=$((i + 1))
done | "$TSD" import --data many - 2>/dev/null
tsd uid metrics 200 --data many
tsd uid metrics 256 --data many
