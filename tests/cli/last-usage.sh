# Newest points of a folder, and what is refused.
printf 't 1793620800 1 st=a net=x\nt 1793620860 2.5 st=a net=x\nt 1793620800 3 st=b net=x\nt 1 9 st=c net=y\n' >points.txt
tsd import points.txt --data data
tsd last t net=x -n 2 --data data
tsd last t 'st=a|c' --data data --format csv
tsd last t --at 1793620859 --data data --format ndjson
tsd last t st=a --data data --format json
tsd last t --at 2026/11/02-17:45 --tz Asia/Kathmandu --data data
tsd last t --tz Mars/Olympus --data data
tsd query 1793620800 1793620900 none t --where 'value>1' --top 1 --data data
tsd last
tsd last t st
tsd last t -n none --data data
tsd last t st=nobody --data data
printf 'web.hits 1793620800 1 domain=example.org\n' | tsd import --data data2 -
tsd last web.hit --data data2
tsd last web.hits domian=example.org --data data2
tsd last web.hits domain=example.ogr --data data2
tsd query 1793620800 1793620900 none t --where value --data data
tsd last web.hits 'domain=example*' --data data2
tsd search lokup
tsd search web.hits
tsd search lookup
