# tsd total: words, lists, what is kept.
start data
tsd total --port $port
tsd total add web.hits --over domain --port $port
printf 'web.hits 1793620800 5 domain=a host=x\nweb.hits 1793620801 7 domain=b host=y\nweb.hits 1793624400 9 domain=b host=x\n' >points
tsd import points --port $port
tsd flush --compact --port $port
stop
echo "== a folder"
tsd total --data data
tsd total add web.hits --over host,domain --data data
tsd query 2026/11/02 2026/11/03 sum web.hits --by hour --data data
tsd total remove web.hits --over domain,host --data data
echo "== wrong words"
tsd total show
tsd total add
tsd total add web.hits
tsd total add web.hits web.bytes --over domain
tsd total list web.hits
tsd total --over domain
tsd total add web.hits --over domain --data data
tsd total add web.hits --over domain,domain --data data
tsd total add web.hits --over '' --data data
tsd total add 'web hits' --over domain --data data
tsd total remove web.hits --over host --data data
tsd total add 'web.*' --over host --data data
tsd total add web.hits --over 'ho*st' --data data
