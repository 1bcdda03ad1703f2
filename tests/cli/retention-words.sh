# tsd retention: patterns that no name can match are refused.
start data
tsd retention add 'cpu.*' 'host=a|b' points=30d --port $port
tsd retention add "''" points=1d --port $port
tsd retention add 'cpu.*' 'ho|st=a' points=30d --port $port
tsd retention set 'cpu.* points=30d' 'disk.{a,b} points=7d' --port $port
tsd retention add host=a points=30d --port $port
tsd retention add 'cpu.*' 'host=w*b*' points=30d hours=2y days=forever --port $port
tsd retention remove 'cpu.*' 'host=a|b' points=30d --port $port
tsd retention --port $port
stop
tsd retention add 'web.*' 'host=a|b' points=30d --data data
tsd retention --data data
