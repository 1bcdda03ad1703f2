# Wrong words of the commands that change a store: each says what is wrong and ends with 2, before a daemon is asked.
tsd compact --from 2026/11/05 --to 2026/11/01
tsd compact --from never
tsd rebalance --shards 8192
tsd versions --port x
tsd versions --port 65536
tsd total add web.hits --over a,
tsd total add '' --over a
tsd total add web.hits --over a,a
tsd total add web.hits --over a,b,c,d,e,f,g,h,i,j
tsd retention add 'cpu.*' point=30d
tsd retention add 'cpu.*'
tsd retention add 'cpu.*' points=30x
tsd retention add 'cpu.*' 'points=30d;* points=1h'
tsd retention set ''
tsd retention max-bytes 1.5G
tsd retention max-bytes 0
tsd retention max-bytes 2000P
tsd retention max-bytes 18446744073709551615
tsd import --bulk --bulk-memory 1 no.txt 2>&1 | sed 's/to [0-9]*M,/to MEMORY,/'
tsd replace --series m --from 1 --to 2 --bulk-memory much no.txt 2>&1 | sed 's/to [0-9]*M,/to MEMORY,/'
tsd import --idle no.txt
echo "== rules that never apply"
start data
tsd retention add 'cpu.*' points=1y --port $port
tsd retention add 'cpu.*' points=1w --port $port
echo "== the folder is named whole, wherever the daemon was started"
printf 'm 1793620800 1 a=b\n' >p.txt
mkdir elsewhere && cd elsewhere
tsd import --bulk ../p.txt --port $port | sed 's/ in .*/ in TIME/'
cd ..
tsd query 2026/11/02 2026/11/03 none m --port $port
stop

# a long rule stands twice in its error, which still ends with an example
long=$(printf '%0100d' 0)
tsd retention add "$long" "host=$long" points=2d days=1h --data data
tsd retention add "$long" "host=$long" "points=$long" --data data
